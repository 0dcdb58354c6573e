"""People who look further after a click: the user browsing model (Dupret and Piwowarski, 2008).

P(click at rank k) = γ · θ[k, distance to the last clicked rank]
"""

from typing import Any

import numpy as np

from rankloop.data.collection import Split
from rankloop.errors import SettingsError
from rankloop.settings import require_probabilities, settle
from rankloop.users.attraction import Attracted, Attraction
from rankloop.users.behaviour import Behaviour

# Row: rank; column: distance to the last click, from 1; last column: no click yet.
THETA: tuple[tuple[float, ...], ...] = (
    (1.0,),
    (0.98, 1.0),
    (1.0, 0.62, 0.95),
    (1.0, 0.77, 0.42, 0.82),
    (1.0, 0.92, 0.55, 0.31, 0.69),
    (1.0, 0.96, 0.63, 0.40, 0.22, 0.54),
    (1.0, 0.99, 0.73, 0.46, 0.29, 0.17, 0.47),
    (1.0, 1.0, 0.89, 0.52, 0.35, 0.24, 0.14, 0.43),
    (1.0, 1.0, 0.95, 0.68, 0.40, 0.29, 0.19, 0.12, 0.41),
    (1.0, 1.0, 1.0, 0.96, 0.52, 0.36, 0.27, 0.18, 0.12, 0.43),
)


class UserBrowsing(Attracted, frozen=True):
    """Examination by rank and distance to the last click.

    Args:
        attraction: γ = P(click | examined), as of `PositionBased`.
        examination: one row per rank; row k has k probabilities: for the last click 1, 2 … k − 1 ranks above, and
            for no click yet.

    >>> user_browsing("perfect").click_probabilities([4, 4, 0, 4])
    array([1.   , 0.98 , 0.   , 0.763])
    """

    examination: tuple[tuple[float, ...], ...] = THETA

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.examination
        if not isinstance(given, (list, tuple)) or not given:
            raise SettingsError(f"UserBrowsing: examination must be a list of rows, one per rank; got {given!r}")
        rows = tuple(require_probabilities("UserBrowsing", f"examination[{k}]", row) for k, row in enumerate(given))
        wrong = next((k for k, row in enumerate(rows) if len(row) != k + 1), None)
        if wrong is not None:
            raise SettingsError(
                f"UserBrowsing: examination[{wrong}] must have {wrong + 1} probabilities, one for each distance to the "
                f"last click and one for none; got {len(rows[wrong])}"
            )
        settle(self, examination=rows)

    def behaviour(self, page_size: int, split: Split | None = None) -> Behaviour:
        """θ by rank and last click."""
        if page_size > len(self.examination):
            raise SettingsError(
                f"user {self.name!r} is given for {len(self.examination)} ranks, but a page shows {page_size}; "
                f"give one row per rank: UserBrowsing(examination=[...])"
            )
        look = np.zeros((page_size, page_size + 1))
        for k in range(page_size):
            row = self.examination[k]
            look[k, 0] = row[k]
            for last in range(k):
                look[k, last + 1] = row[k - last - 1]
        gammas, by_row = self.gammas(split)
        return Behaviour.of(page_size, gammas, by_row=by_row, look=look)


def user_browsing(
    attraction: Attraction,
    *,
    examination: tuple[tuple[float, ...], ...] = THETA,
    grades: int | None = None,
    name: str = "",
) -> UserBrowsing:
    """People who look further after a click: `user_browsing("noisy")`."""
    made = UserBrowsing(attraction, examination, name=name)
    return made if grades is None else made.graded(grades)
