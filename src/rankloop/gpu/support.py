"""Which simulations there is device code for."""

from rankloop.gpu import Request
from rankloop.gpu.batch import ONE_EACH, own_blocks
from rankloop.gpu.packing import LEARNERS, RANKS
from rankloop.gpu.planning import room_for, shared_bytes
from rankloop.learners import Posterior
from rankloop.rankers import Linear
from rankloop.users import User

LEAST_SHARED = 96 * 1024
"""Bytes of shared memory that a block is taken to have where nobody has looked at the device: the least of today's."""


def why_not(request: Request) -> str | None:
    """None if there is device code for a request; otherwise a short reason."""
    learner, settings = request.learner, request.settings
    name = getattr(learner, "name", type(learner).__name__)
    if type(learner) not in LEARNERS:
        return f"{name} has no device code"
    if not isinstance(learner.scoring_ranker, Linear):
        return f"{name} has device code for linear rankers only"
    if not isinstance(request.user, User) or any(
        type(one).compiled is not User.compiled for one in (request.user, *request.user.crowd().people)
    ):
        return f"the user {getattr(request.user, 'name', request.user)} has a click of its own, and no device code"
    if settings.get("delay", 0):
        return "late updates have no device code"
    page_size = settings.get("page_size", 10)
    if page_size > RANKS:
        return f"pages of more than {RANKS} documents have no device code"
    if isinstance(learner, Posterior) and learner.intervals:
        return f"{name} has no device code for intervals"
    longest = request.data.train.longest
    if not _fits(request, page_size, room_for(longest, page_size)):
        return f"queries of {longest:,} candidates do not fit the shared memory of a block"
    return None


def _fits(request: Request, page_size: int, room: int) -> bool:
    features, most = request.data.features, _shared()
    if isinstance(request.learner, ONE_EACH):
        return own_blocks(request.learner, features, page_size, room, most)[0] is not None
    variance = bool(request.settings.get("gradient_variance", False))
    return shared_bytes(1, features, room, variance=variance) <= most


def _shared() -> int:
    from rankloop.gpu.device import most_shared, why_no_device

    return most_shared() if why_no_device() is None else LEAST_SHARED
