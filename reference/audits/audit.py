"""One listing that was handed out, what was planted in it, and what it computes on given inputs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

SEED = 20240
"""Of the weights, which are the same in every run: evidence has to be reproducible."""

DEFINITION, HANDED_OUT, RIGHT, ONLY = "definition", "handed out", "right", "only "
"""Variants that are run; ``"only x"`` is the right listing with the fault ``x`` alone."""


class NoEvidence(Exception):
    """Inputs prove nothing; carries why, for students, in every language."""

    def __init__(self, en: str, de: str) -> None:
        super().__init__(en)
        self.text = {"en": en, "de": de}


@dataclass(frozen=True)
class Fault:
    """A fault that can be planted in a listing.

    Args:
        id: unique in the listing.
        component: the method it sits in, such as ``"Translator.decode"``.
        old: code that stands once in the right listing.
        new: what stands there instead.
        names: what the component may be called besides.
    """

    id: str
    component: str
    old: str
    new: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Remark:
    """Something worth saying about a listing that is no fault of it.

    Args:
        id: unique in the listing.
        lines: code that stands on the lines it is about, each once in the listing.
        names: components it may be called by.
    """

    id: str
    lines: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What was computed, and which of its entries the definition speaks of (same shape)."""

    output: Tensor
    counted: Tensor


@dataclass(frozen=True)
class Audit:
    """A listing with planted faults, beside its definition.

    Args:
        right: the listing without faults.
        catalogue: faults that can be planted in it.
        planted: ids of those that were.
        run: makes the model of an executed listing and runs it: (namespace, inputs) → outcome.
        definition: the same by the definition; raises `NoEvidence` where it says nothing.
        remarks: what may be remarked.
        above: code of the cells above the listing, which it needs.
    """

    right: str
    catalogue: tuple[Fault, ...]
    planted: tuple[str, ...]
    run: Callable[[Mapping[str, Any], Mapping[str, Any]], Outcome]
    definition: Callable[[Mapping[str, Any]], Outcome]
    remarks: tuple[Remark, ...] = ()
    above: str = ""

    def listing(self, ids: Sequence[str] | None = None) -> str:
        """The listing with some faults in it; default: as it was handed out.

        Raises:
            ValueError: an id is not in the catalogue.
        """
        wanted = self.planted if ids is None else ids
        unknown = set(wanted) - {fault.id for fault in self.catalogue}
        if unknown:
            raise ValueError(f"unknown faults {', '.join(sorted(unknown))}")
        text = self.right
        for fault in self.catalogue:
            if fault.id in wanted:
                text = text.replace(fault.old, fault.new)
        return text

    def facts(self) -> dict[str, Any]:
        """Where the faults and remarks are: line numbers from 1, and names of components."""
        handed_out = self.listing()
        faults = {}
        for fault in self.catalogue:
            if fault.id in self.planted:
                repaired = self.listing([one for one in self.planted if one != fault.id])
                names = {fault.component, fault.component.rpartition(".")[2], *fault.names}
                faults[fault.id] = {"lines": changed_lines(repaired, handed_out), "names": sorted(names)}
        rows = handed_out.splitlines()
        remarks = {
            remark.id: {
                "lines": [number for number, row in enumerate(rows, 1) if row.strip() in remark.lines],
                "names": sorted(remark.names),
            }
            for remark in self.remarks
        }
        return {"faults": faults, "remarks": remarks}

    def outcome(self, variant: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What one variant computes in double precision.

        Returns:
            ``output`` and ``counted``; or ``raised``, an exception's name, from a listing.

        Raises:
            NoEvidence: the definition says nothing about these inputs.
            ValueError: there is no such variant.
        """
        names = {} if variant == DEFINITION else executed(self.above + self._variant(variant))
        torch.set_num_threads(1)
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with torch.no_grad():
                found = self.definition(inputs) if variant == DEFINITION else self.run(names, inputs)
        except Exception as error:
            if variant == DEFINITION:
                raise
            return {"raised": type(error).__name__}
        finally:
            torch.set_default_dtype(before)
        return {"output": found.output, "counted": found.counted}

    def _variant(self, variant: str) -> str:
        return self.listing({HANDED_OUT: None, RIGHT: ()}.get(variant, (variant.removeprefix(ONLY),)))


def executed(source: str) -> dict[str, Any]:
    """The names that a listing of ours defines."""
    namespace: dict[str, Any] = {"__name__": "listing"}
    exec(compile(source, "<listing>", "exec"), namespace)  # noqa: S102 - our own text, in the reference's box
    return namespace


def changed_lines(repaired: str, faulty: str) -> list[int]:
    """Lines of the faulty text that differ from the repaired one; around a gap, both its neighbours."""
    matcher = difflib.SequenceMatcher(a=repaired.splitlines(), b=faulty.splitlines(), autojunk=False)
    lines: set[int] = set()
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag == "delete":
            lines |= {start, start + 1}
        elif tag != "equal":
            lines |= set(range(start + 1, end + 1))
    return sorted(lines)
