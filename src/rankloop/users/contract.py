"""The compiled contract of a user. Each kind of user implements it for its own named tuple."""

from typing import Any


def click(user: Any, page_grades: Any, seed: Any, impression: Any, clicks: Any) -> None:
    """Fill `clicks` (one value per rank) with what this user does on a page with these grades."""
    raise TypeError(f"no compiled click is registered for {type(user).__name__}")
