"""What all pages share: templates, the files they load, the policy that they load nothing else, and who may act.

Everything that changes something is a POST from a page of this site: it carries a token that only such a page knows,
its origin must be this host, and where the service has API keys the visitor has signed in with one.
"""

import gzip
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rankloop import __version__
from rankloop.live.errors import RequestError, StateError, StoreError
from rankloop.live.http.statuses import status_of
from rankloop.live.keys import WHO, Keyring, digest
from rankloop.live.local import is_local, is_own_origin
from rankloop.web.assets import address_of, assets

R = TypeVar("R", bound=Response)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    # Not "no-referrer": browsers then call the origin of our own forms "null", and these would be refused.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
FORM_BYTES = 64 << 10
SESSION = "rankloop_session"
SESSION_SECONDS = 8 * 3600
FOR_EVER = "public, max-age=31536000, immutable"


class Site:
    """Pages on a Starlette application."""

    def __init__(self, pages: Starlette, keys: Keyring | None = None, templates: BaseLoader | None = None) -> None:
        self._pages = pages
        self._keys = keys
        self._secret = secrets.token_bytes(32)
        self._sessions: dict[str, tuple[bytes, float]] = {}
        """Session → the hash of the key that it was opened with, and when it ends."""
        own = PackageLoader("rankloop.web")
        self._environment = Environment(
            loader=ChoiceLoader([own, templates]) if templates else own, autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        self._environment.globals |= {"static": address_of, "release": __version__}
        self._environment.filters["sentence"] = sentence
        pages.add_route("/static/{name:path}", static_file, ["GET"])
        pages.add_route("/sign-in", self._sign_in_page, ["GET"])
        self.post("/sign-in", self._sign_in, needs_admin=False)
        self.post("/sign-out", self._sign_out, needs_admin=False)

    @property
    def filters(self) -> dict[str, Callable[..., Any]]:
        """Jinja's filters, to add one's own."""
        return self._environment.filters

    # Pages and actions

    def get(self, path: str, handler: Callable[..., Awaitable[Response]]) -> None:
        """Let a function show a page: it takes the request and gives a Response. Visitors must be signed in."""

        async def show(request: Request) -> Response:
            if not self._may_see(request):
                return self._finished(self._ask_to_sign_in(request))
            try:
                return self._finished(await handler(request))
            except (RequestError, StoreError) as error:
                return self._trouble(request, error)

        self._pages.add_route(path, show, ["GET"])

    def post(self, path: str, handler: Callable[..., Awaitable[Response]], *, needs_admin: bool = True) -> None:
        """Let a function act on a form: it takes the request and the form's fields, and gives a Response."""

        async def act(request: Request) -> Response:
            try:
                fields = await self._checked_form(request)
                if needs_admin and not self._may_see(request):
                    raise RequestError("sign_in", "sign in with an admin key first")
                WHO.set(self._who(request))
                return self._finished(await handler(request, fields))
            except (RequestError, StoreError) as error:
                return self._trouble(request, error)

        self._pages.add_route(path, act, ["POST"])

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A template as an answer. `token` is what its forms must send back."""
        session, fresh = self._session(request)
        text = self._environment.get_template(template).render(
            token=self._token(session), signed_in=self._is_signed_in(session), path=request.scope["path"], **values
        )
        content, headers = text.encode("utf-8"), {"vary": "accept-encoding"}
        if _takes_gzip(request):
            # The cookie is for this site alone, so nobody can learn a page's token from how well it compresses.
            content, headers = gzip.compress(content, 5), headers | {"content-encoding": "gzip"}
        response = HTMLResponse(content, status, headers)
        if fresh:
            _set_session(request, response, session)
        return self._finished(response)

    def _trouble(self, request: Request, error: RequestError | StoreError) -> Response:
        """A page that says what is wrong, to a person who may know."""
        status, message = status_of(error), str(error)
        title = "Not found" if status == 404 else "Something went wrong"
        if isinstance(error, StoreError) and not isinstance(error, StateError):
            title, message = (
                "The store is down",
                f"nothing was changed, and there is nothing to see here until it is back: {message}",
            )
        return self.page(request, "trouble.html", status=status, title=title, message=message)

    def _finished(self, response: R) -> R:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    # Who may act

    def recognises(self, scope: Any) -> bool:
        """Whether a request is of somebody who has signed in."""
        return bool(self._sessions) and self._is_signed_in(self._session(Request(scope))[0])

    def _session(self, request: Request) -> tuple[str, bool]:
        session = request.cookies.get(SESSION, "")
        if 20 <= len(session) <= 64:
            return session, False
        return secrets.token_urlsafe(24), True

    def _token(self, session: str) -> str:
        return hmac.digest(self._secret, session.encode(), "sha256").hex()

    def _is_signed_in(self, session: str) -> bool:
        key, until = self._sessions.get(session, (b"", 0.0))
        # A key that was revoked or replaced since opens nothing any more.
        return until > time.monotonic() and self._keys is not None and self._keys.is_valid(key, "admin")

    def _who(self, request: Request) -> str:
        """The name of the key that somebody has signed in with; empty without one."""
        key, _ = self._sessions.get(self._session(request)[0], (b"", 0.0))
        return self._keys.name_of(key) if self._keys is not None and key else ""

    def _may_see(self, request: Request) -> bool:
        if self._keys is None or self._keys.open:
            return is_local(request.headers.get("host", ""))
        return self._is_signed_in(self._session(request)[0])

    def _ask_to_sign_in(self, request: Request) -> Response:
        if self._keys is None or self._keys.open:
            message = "Without API keys, these pages are available under local names only, such as localhost."
            return self.page(request, "trouble.html", status=403, title="Access denied", message=message)
        if "hx-request" in request.headers:
            # A part of a page: it is the whole page that must go.
            page = _path_of(request.headers.get("hx-current-url", "/"))
            return Response(status_code=204, headers={"hx-redirect": f"/sign-in?{urlencode({'next': page})}"})
        return RedirectResponse(f"/sign-in?{urlencode({'next': request.scope['path']})}", 303)

    async def _checked_form(self, request: Request) -> dict[str, str]:
        """The fields of a form that this site made; anything else is refused."""
        origin = request.headers.get("origin")
        is_ours = origin is None or is_own_origin(origin, request.headers.get("host", ""))
        if not is_ours or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise RequestError("other_origin", "this form came from another site")
        fields = await _form(request)
        given = request.headers.get("x-token") or fields.pop("token", "")
        if not hmac.compare_digest(given.encode(), self._token(self._session(request)[0]).encode()):
            raise RequestError("token_wrong", "the page is out of date; reload it and try again")
        return fields

    async def _sign_in_page(self, request: Request) -> Response:
        onward = _inside(request.query_params.get("next"))
        return self.page(request, "sign-in.html", title="Sign in", next=onward, message="")

    async def _sign_in(self, request: Request, fields: dict[str, str]) -> Response:
        onward = _inside(fields.get("next"))
        try:
            header = f"Bearer {fields.get('key', '')}".encode("latin-1", "replace")
            if self._keys:
                self._keys.authorize({b"authorization": header}, "admin")
        except RequestError as error:
            return self.page(request, "sign-in.html", status=403, title="Sign in", next=onward, message=str(error))
        now = time.monotonic()
        self._sessions = {known: entry for known, entry in self._sessions.items() if entry[1] > now}
        # A new session: one that somebody may have planted before must not become a signed-in one.
        session = secrets.token_urlsafe(24)
        self._sessions[session] = digest(fields.get("key", "").strip()), now + SESSION_SECONDS
        response = RedirectResponse(onward, 303)
        _set_session(request, response, session)
        return response

    async def _sign_out(self, request: Request, _: dict[str, str]) -> Response:
        self._sessions.pop(self._session(request)[0], None)
        return RedirectResponse("/sign-in", 303)


def sentence(message: str) -> str:
    """An error as a page tells it.

    >>> sentence("there is no model 'shop'")
    "There is no model 'shop'."
    """
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '?', '!')) else '.'}"


def _set_session(request: Request, response: Response, session: str) -> None:
    secure = request.scope["scheme"] == "https"
    response.set_cookie(SESSION, session, httponly=True, samesite="strict", secure=secure)


def _path_of(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:  # such as http://[
        return "/"


def _inside(address: str | None) -> str:
    """An address on this site, never one elsewhere."""
    return address if address and address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


async def _form(request: Request) -> dict[str, str]:
    """Fields of a small urlencoded form."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > FORM_BYTES:
                raise RequestError("body_too_large", f"a form is limited to {FORM_BYTES >> 10} KiB")
    except ClientDisconnect:
        raise RequestError("malformed_body", "the connection ended before the form did") from None
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise RequestError("malformed_body", "the form cannot be read") from None


def _takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


async def static_file(request: Request) -> Response:
    """One of the site's own files."""
    asset = assets().get(request.path_params["name"])
    if asset is None:
        return Response("no such file", 404, media_type="text/plain", headers=HEADERS)
    content, headers = asset.content, HEADERS | {"cache-control": FOR_EVER, "vary": "accept-encoding"}
    if _takes_gzip(request):
        content, headers = asset.zipped, headers | {"content-encoding": "gzip"}
    return Response(content, media_type=asset.media_type, headers=headers)
