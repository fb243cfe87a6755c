"""A learning platform for tests: launches (LTI 1.3), class list (NRPS 2.0), line items (AGS 2.0)."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import jwt
from jwcrypto.jwk import JWK

from autograder.web.identity import Platform

LTI = "https://purl.imsglobal.org/spec/lti/claim"
ROLES = "http://purl.imsglobal.org/vocab/lis/v2/membership"
ABSENT = ...
"""The value of a claim to be omitted."""
KEY = JWK.generate(kty="RSA", size=2048, kid="lms-1", use="sig", alg="RS256")
CONNECT = "/app/lti/connect"
"""The page on which an instructor connects a course."""
PAGE = 2
"""Number of members per page of the class list."""


class LearningPlatform:
    """One course of a learning platform; a context manager.

    Attributes:
        members: the class list, in the format of the service.
        items: line items.
        scores: scores that were received: (address of the line item, score).
        down: paths that fail.
        nowhere: whether all line items were deleted.
        gone: users who have left the course, and receive no scores.
        lost: number of responses to requests for a new line item that get lost.
        person, roles, claims: user, roles and additional claims of a launch in a browser.
        chosen: the message with the links selected in a browser.
    """

    def __init__(self, client: str) -> None:
        self.client = client
        self.members: list[dict[str, Any]] = []
        self.items: list[dict[str, Any]] = []
        self.scores: list[tuple[str, dict[str, Any]]] = []
        self.down: set[str] = set()
        self.lost = 0
        self.nowhere = False
        self.gone: set[str] = set()
        self.asked: list[dict[str, str]] = []
        self.person, self.roles = "ada", ("Learner",)
        self.claims: dict[str, Any] = {}
        self.chosen = ""
        platform = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                platform.answer(self, None)

            def do_POST(self) -> None:
                platform.answer(self, self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, *_: object) -> None:
                """Suppress the log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        # Another host name than the service's, so that browsers treat forms of the platform as cross-site.
        self.address = f"http://localhost:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def stated(self, **facts: Any) -> Platform:
        """Return the platform's entry in the configuration of the service."""
        address = self.address
        places = {"login": f"{address}/login", "token": f"{address}/token", "keys": f"{address}/keys"}
        return Platform("LMS", address, self.client, **places, **{"deployments": ("1",), **facts})

    def answer(self, request: BaseHTTPRequestHandler, sent: bytes | None) -> None:
        """Respond to a request."""
        parts = urlsplit(request.path)
        if parts.path in self.down:
            request.send_error(503)
        elif parts.path in {"/start", "/login"}:
            self._form(request, {name: values[0] for name, values in parse_qs(parts.query).items()})
        elif parts.path == "/chosen" and sent is not None:
            self.chosen = parse_qs(sent.decode())["JWT"][0]
            self._page_of(request, "Chosen")
        elif parts.path == "/keys":
            self._send(request, {"keys": [json.loads(KEY.export_public())]})
        elif parts.path == "/token" and sent is not None:
            self.asked.append({name: values[0] for name, values in parse_qs(sent.decode()).items()})
            self._send(request, {"access_token": "A-Token", "token_type": "Bearer", "expires_in": 3600})
        elif request.headers.get("Authorization") == "Bearer A-Token":
            self._serve(request, sent)
        else:
            request.send_error(401)

    def _serve(self, request: BaseHTTPRequestHandler, sent: bytes | None) -> None:
        """Respond to requests for services, which need a token."""
        parts = urlsplit(request.path)
        if parts.path == "/Members":
            self._page(request, int(parse_qs(parts.query).get("From", ["0"])[0]))
        elif parts.path == "/items" and sent is None:
            self._send(request, self.items)
        elif parts.path == "/items" and sent is not None:
            self.items.append({**json.loads(sent), "id": f"{self.address}/items/{len(self.items) + 1}?Of=x"})
            if self.lost:
                self.lost -= 1
                request.close_connection = True
            else:
                self._send(request, self.items[-1])
        elif parts.path.endswith("/scores") and sent is not None:
            score = json.loads(sent)
            if self.nowhere:
                request.send_error(404)
                return
            if score["userId"] in self.gone:
                request.send_error(422)
                return
            self.scores.append((f"{parts.path}?{parts.query}", score))
            self._send(request, {})
        else:
            request.send_error(404)

    def _form(self, request: BaseHTTPRequestHandler, sent: dict[str, str]) -> None:
        """Serve the pages of a launch in a browser: the link, and the login response."""
        if "state" in sent:
            place = sent["redirect_uri"]
            claims = self.said({"nonce": sent["nonce"]}, self.person, self.roles, **self.claims)
            fields = {"id_token": self.signed(claims), "state": sent["state"]}
        else:
            place = f"{sent['service']}/app/lti/login"
            fields = {"iss": self.address, "client_id": self.client, "login_hint": "me"}
            fields["target_link_uri"] = sent["service"]
        inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
        self._page_of(request, f'<form method="post" action="{place}">{inputs}<button>Go on</button></form>')

    @staticmethod
    def _page_of(request: BaseHTTPRequestHandler, body: str) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/html")
        request.end_headers()
        request.wfile.write(f'<title>LMS</title><link rel="icon" href="data:,">{body}'.encode())

    def _page(self, request: BaseHTTPRequestHandler, start: int) -> None:
        further = start + PAGE < len(self.members)
        links = {"Link": f'<{self.address}/Members?From={start + PAGE}>; rel="next"'} if further else {}
        self._send(request, {"id": "x", "members": self.members[start : start + PAGE]}, links)

    @staticmethod
    def _send(request: BaseHTTPRequestHandler, facts: Any, headers: dict[str, str] | None = None) -> None:
        request.send_response(200)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(json.dumps(facts).encode())

    def begun(self, client: Any, **sent: str) -> dict[str, str]:
        """Begin a launch, and return the parameters of the redirect to the platform."""
        fields = {"iss": self.address, "client_id": self.client, "login_hint": "me"}
        answer = client.post("/app/lti/login", {**fields, "target_link_uri": "http://testserver/", **sent})
        assert answer.status_code == 302, answer.content.decode()
        there = urlsplit(answer.headers["location"])
        assert there.geturl().startswith(f"{self.address}/login?")
        return {name: values[0] for name, values in parse_qs(there.query).items()}

    def said(self, begun: dict[str, str], who: str, roles: tuple[str, ...], **claims: Any) -> dict[str, Any]:
        """Return the claims of a launch."""
        services = {
            "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice": {
                "context_memberships_url": f"{self.address}/Members",
                "service_versions": ["2.0"],
            },
            "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint": {
                "scope": [
                    f"https://purl.imsglobal.org/spec/lti-ags/scope/{scope}"
                    for scope in ("lineitem", "lineitem.readonly", "result.readonly", "score")
                ],
                "lineitems": f"{self.address}/items",
            },
        }
        token_claims = {
            "iss": self.address,
            "aud": self.client,
            "sub": who,
            "nonce": begun["nonce"],
            "iat": int(time.time()),
            "exp": int(time.time()) + 60,
            "given_name": who.title(),
            "family_name": "Of-Platform",
            "email": f"{who}@example.org",
            f"{LTI}/message_type": "LtiResourceLinkRequest",
            f"{LTI}/version": "1.3.0",
            f"{LTI}/deployment_id": "1",
            f"{LTI}/target_link_uri": "http://testserver/",
            f"{LTI}/resource_link": {"id": "link"},
            f"{LTI}/context": {"id": "their course", "title": "Their course"},
            f"{LTI}/roles": [f"{ROLES}#{role}" for role in roles],
            f"{LTI}/lis": {"person_sourcedid": who},
            **services,
            **claims,
        }
        return {name: value for name, value in token_claims.items() if value is not ABSENT}

    def launch(
        self,
        client: Any,
        who: str = "ada",
        roles: tuple[str, ...] = ("Learner",),
        key: JWK = KEY,
        **claims: Any,
    ) -> Any:
        """Perform a launch in a browser, and return the response of the service."""
        begun = self.begun(client)
        token = self.signed(self.said(begun, who, roles, **claims), key)
        return client.post("/app/lti/launch", {"id_token": token, "state": begun["state"]})

    @staticmethod
    def signed(claims: dict[str, Any], key: JWK = KEY, kid: str | None = "lms-1") -> str:
        """Return a signed token."""
        private = key.export_to_pem(private_key=True, password=None).decode()
        return jwt.encode(claims, private, algorithm="RS256", headers={"kid": kid} if kid else {})
