"""Conversations as methods: written once, played to their end by `Client` and awaited by `AsyncClient`."""

from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import signature, unwrap
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

from rankloop.client.conversation import Talk

P = ParamSpec("P")
T = TypeVar("T")


def answering(talk: Callable[..., Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """As `wraps`, but what is returned is what the conversation ends with, which is all that callers get to see."""
    declared = signature(talk)
    returned = get_args(declared.return_annotation)[-1]

    def taking_its_place(method: Any) -> Any:
        method = wraps(talk)(method)
        method.__signature__ = declared.replace(return_annotation=returned)
        method.__annotations__ = talk.__annotations__ | {"return": returned}
        return method

    return taking_its_place


def waits(talk: Callable[Concatenate[Any, P], Talk[T]]) -> Callable[Concatenate[Any, P], T]:
    """A method of `Client`: the conversation, played to its end."""

    @answering(talk)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._play(talk(self, *args, **kwargs))
        return result

    return method


def awaits(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method of `AsyncClient` that plays the conversation of one of `Client`."""
    talk = unwrap(method)

    @answering(talk)
    async def awaited(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self._play(talk(self, *args, **kwargs))
        return result

    return awaited
