"""An OpenID Connect provider and a JupyterHub for tests, with one user."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt

CLIENT, SECRET = "autograder", "a secret between the two of them"


class Platform:
    """A provider that authenticates everyone as the user with these claims; a context manager."""

    def __init__(self, **claims: Any) -> None:
        self.claims: dict[str, Any] = dict(claims)
        self.audience = CLIENT
        self.asked: list[dict[str, list[str]]] = []
        """Forms of the token requests."""
        platform = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                platform.get(self)

            def do_POST(self) -> None:
                platform.post(self)

            def log_message(self, *_: object) -> None:
                """Suppress the log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def get(self, request: BaseHTTPRequestHandler) -> None:
        """Serve the configuration, the authorization and the user's claims."""
        parts = urlsplit(request.path)
        if parts.path.endswith("openid-configuration"):
            names = ("authorization", "token", "userinfo")
            places = {f"{name}_endpoint": f"{self.address}/{name}" for name in names}
            _send(request, {"issuer": self.address, "jwks_uri": f"{self.address}/keys", **places})
        elif parts.path.endswith(("/authorization", "/authorize")):
            sent = {name: values[0] for name, values in parse_qs(parts.query).items()}
            back = f"{sent['redirect_uri']}?{urlencode({'code': 'a code', 'state': sent['state']})}"
            request.send_response(302)
            request.send_header("Location", back)
            request.end_headers()
        elif request.headers.get("Authorization") == "Bearer a token":
            _send(request, self.claims)
        else:
            request.send_error(401)

    def post(self, request: BaseHTTPRequestHandler) -> None:
        """Return a token for the code."""
        sent = parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode())
        self.asked.append(sent)
        claims = {"iss": self.address, "aud": self.audience, "exp": int(time.time()) + 60, **self.claims}
        signed = jwt.encode(claims, "0" * 32, algorithm="HS256")
        _send(request, {"access_token": "a token", "token_type": "Bearer", "id_token": signed})


def _send(request: BaseHTTPRequestHandler, facts: dict[str, Any]) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.end_headers()
    request.wfile.write(json.dumps(facts).encode())
