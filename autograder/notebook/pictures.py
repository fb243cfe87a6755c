"""Pictures in a student's texts: attached to the cell, or pasted into it as data URIs.

Nothing is decoded here. `autograder.grading.store` bounds how much is kept, and
`autograder.core.images.build_image_uri` checks the bytes when they are shown.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape, unescape
from typing import Any
from urllib.parse import quote, unquote

from autograder.core.records import PastedPicture
from autograder.core.tables import escape_name

_MIMES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MOST_NAME = 200
_DATA_URI = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/]{16,}={0,2})", re.IGNORECASE)


# All repetitions are bounded, so that hostile texts cannot make the search slow.
_SHOWN = re.compile(
    r"!\[[^\]\n]{0,500}\]\([ ]*<?([^)<>\n\"]{1,500})"
    r"|<img\b[^>]{0,1000}?\bsrc[ ]*=[ ]*[\"']?([^\"'>\n]{1,500})"
    r"|^[ ]{0,3}\[[^\]\n]{1,200}\]:[ ]*<?(attachment:[^>\s]{1,500})",
    re.IGNORECASE | re.MULTILINE,
)
_MOST_NAMED, _MOST_SHOWN = 5, 80


def find_absent_pictures(source: str, pictures: Iterable[PastedPicture]) -> tuple[str, ...]:
    """Return the pictures that a text shows and that are not in its cell, as the text names them.

    These are attachments that were lost when text was pasted, files in the notebook's folder, and web
    addresses, which are never fetched.

    Args:
        source: source of a text cell.
        pictures: pictures of the cell.
    """
    # Longest first, so that a name cannot cut another one that begins with it.
    for attached in sorted({picture.name for picture in pictures}, key=len, reverse=True):
        for written in (attached, quote(attached), escape(attached)):  # names may contain parentheses
            source = source.replace(f"attachment:{written}", "data:")
    absent: dict[str, None] = {}
    for groups in _SHOWN.findall(source):
        address = unescape(unquote("".join(groups))).strip()
        kind, _, name = address.partition(":")
        if kind.lower() != "data" and address:
            absent[name if kind.lower() == "attachment" else address] = None
    return tuple(name[:_MOST_SHOWN] for name in absent)[:_MOST_NAMED]


def attach_files(
    source: str, attached: tuple[PastedPicture, ...], files: Mapping[str, bytes]
) -> tuple[str, tuple[PastedPicture, ...]]:
    """Turn pictures in files next to the notebook into attachments; return the text and all its pictures.

    Args:
        source: source of a text cell.
        attached: pictures already attached to it.
        files: content of the files, by path.
    """
    pictures = {picture.name: picture for picture in attached}
    paths = {path.rpartition("/")[2].casefold(): path for path in files}

    def attach_file(match: re.Match[str]) -> str:
        """Return the reference to an attachment that replaces one to a file."""
        written = next(filter(None, match.groups())).strip()
        address = unescape(unquote(written)).replace("\\", "/").removeprefix("attachment:")
        # Only the file's name is compared, because the text may state any path to it.
        base = escape_name(address.rpartition("/")[2]).casefold()
        # Web addresses stay as they are: they are never fetched.
        if "://" in address or address in pictures or base not in paths:
            return match[0]
        name = paths[base].rpartition("/")[2]
        ending = name.rpartition(".")[2].casefold().replace("jpg", "jpeg")
        mime = f"image/{ending}" if f"image/{ending}" in _MIMES else ""
        data = base64.b64encode(files[paths[base]]).decode() if mime else ""
        pictures.setdefault(name, PastedPicture(name, mime, data))
        return match[0].replace(written, f"attachment:{quote(name)}")

    return (_SHOWN.sub(attach_file, source) if files else source), tuple(pictures.values())


def list_attached_pictures(attachments: Any) -> Iterator[PastedPicture]:
    """Yield the pictures of a cell's attachments, whatever else these contain.

    A picture of another type is listed without its data, because it cannot be shown.
    """
    for name, bundle in attachments.items() if isinstance(attachments, Mapping) else ():
        if isinstance(name, str) and len(name) <= _MOST_NAME and isinstance(bundle, Mapping):
            # One picture per attachment: the first type that browsers show.
            for mime in _MIMES:
                data = bundle.get(mime)
                if isinstance(data, list):  # the format allows a text as a list of its lines
                    data = "".join(line for line in data if isinstance(line, str))
                if isinstance(data, str) and data:
                    yield PastedPicture(name, mime, data)
                    break
            else:
                if any(isinstance(mime, str) and mime.startswith("image/") for mime in bundle):
                    yield PastedPicture(name, "", "")


def extract_pictures(
    source: str, attached: Iterable[PastedPicture] = ()
) -> tuple[str, tuple[PastedPicture, ...]]:
    """Replace data URIs in a text by names of attachments; return the text and all its pictures.

    Args:
        source: source of a text cell.
        attached: pictures already attached to it.
    """
    pictures = {picture.name: picture for picture in attached}

    def name_instead(match: re.Match[str]) -> str:
        """Return the attachment's address that replaces a data URI."""
        kind = match[1].lower().replace("jpg", "jpeg")
        number = 1
        while (name := f"pasted-{number}.{kind}") in pictures:
            number += 1
        pictures[name] = PastedPicture(name, f"image/{kind}", match[2])
        return f"attachment:{name}"

    return _DATA_URI.sub(name_instead, source), tuple(pictures.values())
