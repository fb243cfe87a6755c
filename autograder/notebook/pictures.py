"""Pictures in a student's texts: attached to the cell, or pasted into it as data URIs.

Nothing is decoded here. How much is kept is bounded by `autograder.grading.storage_limit`, and the bytes are
checked where they are shown, by `autograder.feedback.sanitise.image_uri`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograder.records import PastedPicture

_MIMES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MOST_NAME = 200
_DATA_URI = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/]{16,}={0,2})", re.IGNORECASE)


def attached_pictures(attachments: Any) -> Iterator[PastedPicture]:
    """The pictures of a cell's attachments, whatever else stands there."""
    for name, bundle in attachments.items() if isinstance(attachments, Mapping) else ():
        if isinstance(name, str) and len(name) <= _MOST_NAME and isinstance(bundle, Mapping):
            for mime in _MIMES:
                data = bundle.get(mime)
                if isinstance(data, list):  # the format allows a text as a list of its lines
                    data = "".join(line for line in data if isinstance(line, str))
                if isinstance(data, str) and data:
                    yield PastedPicture(name, mime, data)
                    break


def take_out_pictures(
    source: str, attached: Iterable[PastedPicture] = ()
) -> tuple[str, tuple[PastedPicture, ...]]:
    """A text whose data URIs have become names of attachments, and all its pictures.

    Args:
        source: of a text cell.
        attached: what is attached to it already.
    """
    pictures = {picture.name: picture for picture in attached}

    def name_instead(found: re.Match[str]) -> str:
        kind = found[1].lower().replace("jpg", "jpeg")
        number = 1
        while (name := f"pasted-{number}.{kind}") in pictures:
            number += 1
        pictures[name] = PastedPicture(name, f"image/{kind}", found[2])
        return f"attachment:{name}"

    return _DATA_URI.sub(name_instead, source), tuple(pictures.values())
