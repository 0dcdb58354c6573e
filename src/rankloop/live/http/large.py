"""Large bodies are decoded beside the event loop, one at a time, and a page's candidates one by one: the interpreter
does nothing else while it decodes, and everybody would wait for megabytes of numbers.

What would become more objects than memory should hold is refused before it is decoded: a number takes one byte of
MessagePack, and some thirty of memory.
"""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Annotated, Any

import msgspec
import numpy as np

from rankloop.live.errors import RequestError
from rankloop.live.hits import RescoreBody
from rankloop.live.http.bodies import ORDINARY, SMALL
from rankloop.live.http.calls import JSON, MSGPACK, decoded
from rankloop.live.http.counting import packed_values, written_values
from rankloop.live.requests import Candidate, Id, Limits, RankBody, too_many_candidates
from rankloop.live.settings import MAX_FEATURES, NewModelSettings

VALUES = 2_000_000
"""Numbers, names and objects in a page's candidates, or in a model's settings."""
ORDINARY_VALUES = 200_000
"""In any other body."""
LARGE = (RankBody, RescoreBody, NewModelSettings)
"""What may be larger than an ordinary body."""

_beside = ThreadPoolExecutor(1, "rankloop-decoding")

Features = (
    Annotated[list[float], msgspec.Meta(max_length=MAX_FEATURES)]
    | Annotated[dict[str, float], msgspec.Meta(max_length=MAX_FEATURES)]
)


class Part(msgspec.Struct, forbid_unknown_fields=True):
    """A candidate whose features are still bytes."""

    id: Id
    features: msgspec.Raw


def prepare() -> None:
    """Compile what is compiled, so that nobody waits for it."""
    packed_values(b"", 0)


def most_bytes(kind: Any, limits: Limits) -> int:
    """How large the body of a kind may be."""
    return limits.body_bytes if kind in LARGE else min(ORDINARY, limits.body_bytes)


async def decoded_body(kind: Any, body: bytes, media_type: str, limits: Limits) -> Any:
    """A body as what it should be, without keeping others waiting."""
    if len(body) <= SMALL:
        return decoded(kind, body, media_type)
    return await asyncio.get_running_loop().run_in_executor(_beside, decoded_large, kind, body, media_type, limits)


def decoded_large(kind: Any, body: bytes, media_type: str, limits: Limits) -> Any:
    """The same, in a thread of its own."""
    most = VALUES if kind in LARGE else ORDINARY_VALUES
    if (packed_values(body, most) if media_type == MSGPACK else written_values(body)) > most:
        raise _too_many_values(most)
    if kind is RankBody:
        return _page(body, media_type, limits)
    return decoded(kind, body, media_type)


def _page(body: bytes, media_type: str, limits: Limits) -> RankBody:
    if media_type == JSON and (found := body.count(b'"features"')) > limits.candidates:
        raise too_many_candidates(limits, found)
    parts = decoded(_parts(limits.candidates), body, media_type)
    given = msgspec.structs.asdict(parts)
    if parts.candidates is not None:
        given["candidates"] = _candidates(parts.candidates, media_type)
    return RankBody(**given)


def _candidates(parts: list[Part], media_type: str) -> list[Candidate]:
    made = []
    for part in parts:
        features: Any
        try:
            features = decoded(Features, bytes(part.features), media_type)
        except RequestError as error:
            reason = re.sub(r"^the body\b|^(?=\[)", "features", str(error))
            raise RequestError(error.code, f"candidate {part.id!r}: {reason}") from None
        if isinstance(features, list):
            features = np.array(features, np.float64)  # so that a number takes eight bytes
        made.append(Candidate(part.id, features))
    return made


@cache
def _parts(most: int) -> type[msgspec.Struct]:
    """The body of a page with candidates that are bytes, of which there may be so many: MessagePack says how many
    follow, and too many are not read."""
    few = msgspec.Meta(max_length=most)
    kinds = {"candidates": Annotated[list[Part], few] | None, "ids": Annotated[list[Id], few] | None}
    fields = [
        (field.name, kinds.get(field.name, field.type), field.default)
        if field.default is not msgspec.NODEFAULT
        else (field.name, field.type, msgspec.field(default_factory=field.default_factory))
        for field in msgspec.structs.fields(RankBody)
    ]
    return msgspec.defstruct("RankBody", fields, forbid_unknown_fields=True)


def _too_many_values(most: int) -> RequestError:
    fewer = "send features as a matrix, or fewer candidates" if most == VALUES else "send them in several requests"
    return RequestError("invalid_request", f"a body may hold at most {most:,} values one by one; {fewer}")
