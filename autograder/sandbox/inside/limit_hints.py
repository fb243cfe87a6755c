"""Derives from an exception which limit was met. Runs in the box, so it is under the student's control.

The other side asks the kernel whether it is true (see outside/watch.py), and chooses a sentence accordingly.
"""

from __future__ import annotations

import errno

AGAIN = "again"
"""A process was refused, or a descriptor was not ready: only the kernel's counters can tell which."""
MEMORY = "memory"

_BY_NUMBER = {
    errno.EAGAIN: AGAIN,
    errno.ENOSPC: "disk",
    errno.EDQUOT: "disk",
    errno.EFBIG: "disk",
    errno.EMFILE: "descriptors",
    errno.ENOMEM: MEMORY,
}
# C++ libraries raise RuntimeError with the text of the error number.
_BY_TEXT = (
    ("can't start new thread", "processes"),
    ("can't allocate memory", MEMORY),
    ("Cannot allocate memory", MEMORY),
    ("No space left on device", "disk"),
    ("Too many open files", "descriptors"),
)
_DEEPEST = 8
NETWORK = "network"
_NO_NETWORK = {
    "socket": {"gaierror"},
    "urllib": {"URLError"},
    "urllib3": {"MaxRetryError", "NewConnectionError"},
    "requests": {"ConnectionError"},
    "httpx": {"ConnectError"},
    "httpcore": {"ConnectError"},
    "httpx2": {"ConnectError"},
    "httpcore2": {"ConnectError"},
    "aiohttp": {"ClientConnectorError"},
    "huggingface_hub": {"LocalEntryNotFoundError", "OfflineModeIsEnabled"},
    "torch": {"DistNetworkError"},
}
"""Exceptions that report a missing network, by the package that defines them."""
_HUB = "huggingface.co"
"""Part of the message of transformers about a name that it finds neither locally nor on the hub."""


def find_reported_limits(error: BaseException | None) -> list[str]:
    """Return the limits that an exception, or one of its causes, refers to; each once."""
    words: list[str] = []
    try:
        for _ in range(_DEEPEST):
            if error is None:
                break
            word = _classify_error(error)
            if word and word not in words:
                words.append(word)
            error = error.__cause__ or error.__context__
    except BaseException:  # noqa: BLE001 - an exception class of the student's may run any code here
        return words
    return words


def _classify_error(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return MEMORY
    if _needs_network(error):
        return NETWORK
    if isinstance(error, OSError):
        return _BY_NUMBER.get(error.errno or 0, "")
    if isinstance(error, RuntimeError):
        text = str(error)[:600]
        return next((word for sign, word in _BY_TEXT if sign in text), "")
    return ""


def _needs_network(error: BaseException) -> bool:
    for kind in type.mro(type(error)):
        if kind.__name__ in _NO_NETWORK.get(kind.__module__.partition(".")[0], ()):
            return True
    if isinstance(error, PermissionError) and error.filename is None:  # a socket that is refused
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        return trace is not None and trace.tb_frame.f_code.co_filename.endswith("/socket.py")
    return isinstance(error, OSError) and _HUB in str(error)[:600]
