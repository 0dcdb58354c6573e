"""Errors of the live service: each one a sentence, and the HTTP status that goes with it."""

from rankloop.errors import RankloopError


class StoreError(RankloopError):
    """The store cannot be read or written at the moment; nothing was acknowledged. No fault of the input."""


class RequestError(RankloopError):
    """A request that cannot be answered as it is: `status` is HTTP's, `code` is for machines, the text for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
