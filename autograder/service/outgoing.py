"""HTTPS requests to addresses that users state, which must not lead into this network."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import os
import socket
import ssl
import threading
from urllib.parse import urlsplit

from autograder.core.wording import format_size
from autograder.service.refusals import RequestRefused

PRIVATE = "AUTOGRADER_PRIVATE_ADDRESSES"
"""Environment variable: with the value 1, stated addresses may lead into private networks."""
MOST_BYTES = 1 << 18
"""Largest response that is read."""
_SECONDS = 10.0
"""Time limit for each read."""
_TOTAL_SECONDS = 20.0


def resolve_address(address: str) -> str:
    """Return the IP address that an address leads to.

    Raises:
        RequestRefused: it is not https, its host is unknown, or one of the host's addresses is private.
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or 443
    except ValueError as error:
        raise RequestRefused("webhook-expected") from error
    if parts.scheme != "https" or not host or parts.username is not None:
        raise RequestRefused("webhook-expected")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RequestRefused("webhook-host", host=host) from error
    addresses = [str(entry[4][0]) for entry in found]
    # All of them: the one that is used later must not depend on luck.
    if os.environ.get(PRIVATE) != "1" and not all(map(is_public, addresses)):
        raise RequestRefused("webhook-private", host=host)
    return addresses[0]


def is_public(address: str) -> bool:
    """Decide whether an IP address is reachable for everybody, also if it is embedded in another one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        # NAT64 (RFC 6052) embeds any IPv4 address, too.
        if ip in ipaddress.ip_network("64:ff9b::/96"):
            embedded = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
        if embedded is not None and not embedded.is_global:
            return False
    return ip.is_global and not ip.is_multicast


class _PinnedConnection(http.client.HTTPSConnection):
    """Connects to an address that was checked: a second look-up of the name could return another one."""

    def __init__(self, host: str, port: int, address: str) -> None:
        self._tls = ssl.create_default_context()
        self._address = address
        self._open: ssl.SSLSocket | None = None
        """`sock` is forgotten before the body is read if the other side closes the connection after it."""
        self.aborted = False
        """Whether `abort` was called; true before the other thread can notice anything of it."""
        super().__init__(host, port, timeout=_SECONDS, context=self._tls)

    def connect(self) -> None:
        """Open the connection; the certificate must be that of the host."""
        plain = socket.create_connection((self._address, self.port), _SECONDS)
        self._open = self._tls.wrap_socket(plain, server_hostname=self.host, do_handshake_on_connect=False)
        if self.aborted:
            raise TimeoutError
        self.sock = self._open
        self._open.do_handshake()

    def abort(self) -> None:
        """End the connection from another thread, whatever it waits for."""
        self.aborted = True
        if self._open is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._open, socket.SHUT_RDWR)


def send_request(method: str, address: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
    """Send a request to an address that is checked again, and return status and body of the response.

    Redirects are not followed.

    Raises:
        RequestRefused: the address is not allowed, or the response is too large.
        OSError, HTTPException: the other side cannot be reached, or is too slow.
    """
    parts, ip = urlsplit(address), resolve_address(address)
    connection = _PinnedConnection(parts.hostname or "", parts.port or 443, ip)
    # The socket's own limit begins anew with every byte, so a slow server could hold a thread for ever.
    limit = threading.Timer(_TOTAL_SECONDS, connection.abort)
    limit.daemon = True
    limit.start()
    try:
        path = parts.path or "/"
        connection.request(method, f"{path}?{parts.query}" if parts.query else path, body, headers)
        response = connection.getresponse()
        content = response.read(MOST_BYTES + 1)
        if connection.aborted:  # the end of what was read is not the end of the response
            raise TimeoutError
    finally:
        limit.cancel()
        connection.abort()
        connection.close()
    if len(content) > MOST_BYTES:
        raise RequestRefused("response-large", most=format_size(MOST_BYTES))
    return response.status, content
