"""Images as data URIs, if they are what they claim to be."""

from __future__ import annotations

import base64
import binascii

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
MOST_IMAGE_BYTES = 3 * 2**20
MOST_PIXELS = 40_000_000


def build_image_uri(mime: str, data: str) -> str | None:
    """Return a data URI for a PNG, JPEG, GIF or WebP that is what it claims, or None.

    The bytes are checked (strict base64, signature, size, number of pixels) and encoded anew.
    """
    # Before decoding: base64 needs a third more characters than bytes, and may contain line breaks.
    if len(data) > 2 * MOST_IMAGE_BYTES:
        return None
    try:
        content = base64.b64decode("".join(data.split()).encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None
    if not 0 < len(content) <= MOST_IMAGE_BYTES:
        return None
    # The number of pixels bounds the browser's memory: small files can hold huge pictures.
    size = _SIZES[mime](content) if mime in _SIZES else None
    if size is None or not 0 < size[0] * size[1] <= MOST_PIXELS:
        return None
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


def _read_png_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height from the header."""
    if not content.startswith(_PNG) or content[12:16] != b"IHDR" or len(content) < 24:
        return None
    return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])


def _read_jpeg_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height from the first frame header, found by walking the segments."""
    if not content.startswith(_JPEG):
        return None
    offset = 2
    while offset + 9 <= len(content) and content[offset] == 0xFF:
        marker, length = content[offset + 1], int.from_bytes(content[offset + 2 : offset + 4])
        # These three markers in the range are no frame headers.
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            return int.from_bytes(content[offset + 7 : offset + 9]), int.from_bytes(
                content[offset + 5 : offset + 7]
            )
        offset += 2 + length
    return None


def _read_gif_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height from the header."""
    if not content.startswith((b"GIF87a", b"GIF89a")) or len(content) < 13:
        return None
    return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")


def _read_webp_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height from the first chunk: lossy, lossless or extended."""
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP" or len(content) < 30:
        return None
    if content[12:16] == b"VP8 " and content[23:26] == b"\x9d\x01\x2a":
        width, height = (
            int.from_bytes(content[offset : offset + 2], "little") & 0x3FFF for offset in (26, 28)
        )
        return width, height
    # Lossless: 14 bits each, stored minus one.
    if content[12:16] == b"VP8L" and content[20] == 0x2F:
        packed = int.from_bytes(content[21:25], "little")
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    if content[12:16] == b"VP8X":
        return int.from_bytes(content[24:27], "little") + 1, int.from_bytes(content[27:30], "little") + 1
    return None


_SIZES = {
    "image/png": _read_png_size,
    "image/jpeg": _read_jpeg_size,
    "image/gif": _read_gif_size,
    "image/webp": _read_webp_size,
}
