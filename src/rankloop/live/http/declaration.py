"""How an endpoint is declared: its address, who may ask, what it takes and what it answers, all beside the function
that does it. Routing, the checks before it, and the OpenAPI document follow from the declaration."""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from rankloop.live.errors import RequestError
from rankloop.live.http.calls import Call
from rankloop.settings import NAME

Handler = Callable[[Call], Awaitable[Any]]


class Parameter(NamedTuple):
    """A value in an address. Its JSON schema is what the document shows, and what is checked."""

    name: str
    schema: dict[str, Any]
    required: bool = False

    def read(self, text: str | None) -> Any:
        """The value that a text stands for, or its default.

        >>> limit = Parameter("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100})
        >>> limit.read("7"), limit.read(None)
        (7, 100)
        """
        if text is None:
            if self.required:
                raise RequestError("invalid_request", f"{self.name} is missing; send ?{self.name}=…")
            return self.schema.get("default")
        match self.schema:
            case {"type": "integer", "minimum": low, "maximum": high}:
                if text.isascii() and text.isdigit() and len(text) <= 16 and low <= int(text) <= high:
                    return int(text)
                raise self._wrong(f"a whole number from {low} to {high}", text)
            case {"type": "boolean"}:
                if text in ("true", "false"):
                    return text == "true"
                raise self._wrong("true or false", text)
            case {"enum": choices} if text not in choices:
                raise self._wrong(f"one of {', '.join(choices)}", text)
        return text

    def _wrong(self, wanted: str, text: str) -> RequestError:
        return RequestError("invalid_request", f"{self.name} must be {wanted}; got {text[:40]!r}")


NUMBER = {"type": "integer", "minimum": 0, "maximum": 2**53}
MODEL = Parameter("model", {"type": "string", "pattern": f"^{NAME.pattern}$"}, required=True)
IMPRESSION = Parameter("impression", {"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": 512}, required=True)
CHALLENGER = MODEL._replace(name="challenger")
VERSION = Parameter("version", NUMBER)
IN_PATHS = {
    "model": MODEL,
    "challenger": CHALLENGER,
    "impression": IMPRESSION,
    "version": VERSION._replace(required=True),
}


class Reply(NamedTuple):
    """One kind of answer: a struct, or, of some other media types, what an endpoint writes itself."""

    type: Any
    status: int = 200
    description: str = "Done."
    media: tuple[str, ...] = ()


class Endpoint:
    """An address, who may ask, and all that is known before somebody does. It decorates the function that answers.

    Args:
        method, path: where it is; parts of the path in braces are among `IN_PATHS`.
        scope: what a key must allow; None: everybody may ask.
        replies: types of answers, or a Reply for what is not a plain 200. Several of one status: any of them.
        body: the type of the body, if it has one.
        needs_body: whether there must be one; if not, an empty one stands for the defaults.
        query: parameters; others, and one sent twice, are refused. Only what everybody may ask ignores its query:
            probes and scrapers append what they like.
        refuses: codes of errors that do not follow from the rest.
        hot: whether live traffic uses it.
        always: whether it is answered however busy the service is.
    """

    handler: Handler

    def __init__(
        self, method: str, path: str, scope: str | None, *replies: Any, body: Any = None, needs_body: bool = True,
        query: tuple[Parameter, ...] = (), refuses: tuple[str, ...] = (), hot: bool = False, always: bool = False,
    ) -> None:  # fmt: skip
        self.method, self.path, self.scope = method, path, scope
        self.replies = [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies]
        self.body, self.needs_body = body, needs_body
        self.in_path = [IN_PATHS[name] for name in re.findall(r"\{(\w+)\}", path)]
        self.query = {parameter.name: parameter for parameter in query}
        self.refuses, self.hot, self.always = refuses, hot, always

    def __call__(self, handler: Handler) -> "Endpoint":
        """Let a function answer; its name is the endpoint's in the document and the metrics."""
        self.handler, self.name = handler, handler.__name__
        return self

    def values(self, path: dict[str, str], query: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The values of all parameters, by name."""
        texts: dict[str, str] = {}
        for name, text in query if self.scope is not None else ():
            # Neither `?dryrun=true` nor `?dry_run=true&dry_run=false` may do what a dry run would not.
            if name not in self.query:
                known = f"only {', '.join(self.query)}" if self.query else "nor any other"
                raise RequestError("invalid_request", f"there is no parameter {name[:40]!r} here, {known}")
            if name in texts:
                raise RequestError("invalid_request", f"{name} is given more than once; send it once")
            texts[name] = text
        given = {name: parameter.read(texts.get(name)) for name, parameter in self.query.items()}
        return given | {parameter.name: parameter.read(path[parameter.name]) for parameter in self.in_path}
