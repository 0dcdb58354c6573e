"""Errors of the live service: each one a sentence for the person who caused it, or who runs the service."""

from rankloop.errors import RankloopError


class StoreError(RankloopError):
    """The store cannot be read or written at the moment; nothing was acknowledged. No fault of the input."""


class StateError(StoreError):
    """A model's kept state cannot be read. It is this model's trouble alone, and its log can still be folded."""


class RequestError(RankloopError):
    """A request that cannot be answered as it is: `code` is for machines, the text for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
