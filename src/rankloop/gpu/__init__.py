"""The GPU engine: many simulations side by side on a CUDA device, with the same draws and the same arithmetic.

A block of threads is a few runs that share a seed, and so their queries. Nothing here needs a device, or CuPy, until it
is asked for one: `why_no_device` and `why_not` say what is missing, in a sentence.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rankloop.data.collection import Collection
    from rankloop.learners import Learner
    from rankloop.runs.run import Run
    from rankloop.users import User

__all__ = ["Request", "fingerprint", "simulate_on_device", "why_no_device", "why_not"]


class Request(NamedTuple):
    """A simulation, as `rankloop.simulate` would be asked for it.

    `user` and `data` are as given to `simulate`: attributes and tables for the collection's grades are put in here.
    `settings` are its keyword settings; what is left out has its default.
    """

    learner: "Learner | Any"
    user: "User | Any"
    data: "Collection"
    impressions: int
    seed: int
    settings: dict[str, Any]


def why_no_device() -> str | None:
    """None where there is a CUDA device and CuPy to use it; otherwise a sentence that says what is missing."""
    from rankloop.gpu.device import why_no_device

    return why_no_device()


def why_not(request: Request) -> str | None:
    """None if a request can be computed on a device; otherwise a short reason, such as "PLRank has no device code"."""
    from rankloop.gpu.support import why_not

    return why_not(request)


def simulate_on_device(requests: Sequence[Request], progress: Callable[[int], None] | None = None) -> "list[Run]":
    """The runs of requests that there is device code for, in their order, in as many batches as fit the device.

    They may be any mix: what can share a launch does. `progress` is called with the number of impressions done, of all
    runs together, now and then.
    """
    from rankloop.gpu.running import simulate_on_device

    return simulate_on_device(requests, progress)


def fingerprint() -> str:
    """A short digest of the device's sources and of what plans and packs for it: part of a record's key."""
    from rankloop.gpu.programs import fingerprint

    return fingerprint()
