"""A further web process, started by `autograder.web.processes.start_process`."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence

import msgspec

from autograder.web import logs, processes
from autograder.web.server import Service


def main() -> None:
    """Answer requests at the inherited sockets."""
    logs.configure_logging()
    options = msgspec.json.decode(
        sys.argv[1], type=processes.ProcessOptions, dec_hook=lambda kind, value: kind(value)
    )
    sockets = [socket.socket(fileno=int(number)) for number in sys.argv[2:]]
    threading.Thread(target=_stop_at_end_of_input, args=(sockets,), daemon=True).start()
    os.set_inheritable(options.metrics.descriptor, False)  # noqa: FBT003 - no box inherits it
    with Service(options.service, options.folders, options.metrics):
        processes.answer_requests(sockets, options.service, lambda: None)


def _stop_at_end_of_input(sockets: Sequence[socket.socket]) -> None:
    """Stop listening when the parent process is gone, and let running requests finish."""
    # The parent holds the other end of this pipe: end of file means that it has exited.
    while os.read(0, 1024):
        pass
    for listener in sockets:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
