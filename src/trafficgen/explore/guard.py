"""Keep other pages of the browser from using this one: checks of requests, headers of answers."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Names of the page; any other in ``Host`` was rebound to this machine.
HOST_NAMES = ("127.0.0.1", "localhost")

#: Only our own files run or are fetched. Plotly writes styles into its charts, and images as blobs.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
ANSWER_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses requests of other names and other pages, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, *, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in HOST_NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(ANSWER_HEADERS)
            await send(message)

        refusal = self._refusal(Headers(scope=scope), path=scope["path"])
        answer = self._app if refusal is None else PlainTextResponse(refusal, status_code=403)
        await answer(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers, *, path: str) -> str | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return f"This page is served as {' and '.join(sorted(self._hosts))} only."
        if any(origin.lower() not in self._origins for origin in headers.getlist("origin")):
            return "This page takes requests of its own only, not of other pages."
        # A link from another site may open the page, but not start a simulation.
        if path.startswith("/api/") and headers.get("sec-fetch-site", "same-origin") not in (
            "same-origin",
            "none",
        ):
            return "This page takes requests of its own only, not of other pages."
        return None
