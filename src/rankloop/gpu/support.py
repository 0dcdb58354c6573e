"""Which simulations there is device code for."""

from rankloop.gpu import Request


def why_not(request: Request) -> str | None:
    """None if there is device code for a request; otherwise a short reason."""
    return f"{request.learner.name} has no device code"
