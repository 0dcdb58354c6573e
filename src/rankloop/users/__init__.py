"""Who clicks: simulated people. One file per kind; a kind is a settings class and a compiled `click`.

The kinds of the literature are made by name:

>>> perfect(grades=3).attraction
(0.0, 0.5, 1.0)
>>> noisy()
PositionBased(attraction=(0.4, 0.6, 0.7, 0.8, 0.9), examination=PowerLaw(eta=1.0), name='noisy')
"""

from rankloop.users.position_based import (
    ATTRACTIONS,
    PositionBased,
    by_name,
    navigational,
    near_random,
    noisy,
    perfect,
)

User = PositionBased

__all__ = [
    "ATTRACTIONS",
    "PositionBased",
    "User",
    "by_name",
    "navigational",
    "near_random",
    "noisy",
    "perfect",
]
