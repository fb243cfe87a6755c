"""docs/licences.md names every installed dependency with copyleft."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def find_copyleft() -> set[str]:
    """Return the pinned packages whose metadata name a licence with copyleft."""
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.M)
    named = set()
    for package in pinned:
        try:
            metadata = importlib.metadata.metadata(package)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another operating system
        # The field may contain the licence text: its first line is the name.
        stated = [text.partition("\n")[0] for text in metadata.get_all("License", [])]
        stated += metadata.get_all("License-Expression", [])
        stated += [name for name in metadata.get_all("Classifier", []) if name.startswith("License ::")]
        if re.search(r"GPL|MPL|Mozilla|EUPL|SSPL|Commons Clause", " ".join(stated)):
            named.add(package.lower().replace("_", "-"))
    return named


def test_page_of_licences_names_the_packages_with_copyleft() -> None:
    """The page lists them for departments that check licences before installing."""
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "docs" / "licences.md").read_text(), re.M)
    listed = {name for row in rows[1:] for name in row.split(", ") if not name.startswith("-")}
    assert listed == find_copyleft()
