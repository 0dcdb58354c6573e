"""When people have had enough: P(stop) by grade, for kinds that may leave a page before its end."""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.users.attraction import GRADES, Attracted, settled_table, table_for

# P(stop) by grade, for five- and three-grade labels, of the people of the same names in `ATTRACTIONS`.
_INFORMATIONAL = {5: (0.1, 0.2, 0.3, 0.4, 0.5), 3: (0.1, 0.3, 0.5)}
_ALMOST_RANDOM = {5: (0.5,) * 5, 3: (0.5,) * 3}
STOPS: dict[str, dict[int, tuple[float, ...]]] = {
    "perfect": {5: (0.0,) * 5, 3: (0.0,) * 3},
    "noisy": _INFORMATIONAL,
    "navigational": {5: (0.2, 0.3, 0.5, 0.7, 0.9), 3: (0.2, 0.5, 0.9)},
    "near-random": _ALMOST_RANDOM,
    "informational": _INFORMATIONAL,
    "almost-random": _ALMOST_RANDOM,
}

Stopping = tuple[float, ...] | str | None
"""P(stop) by grade, as a table or the name of one; None: the table of the same name as the attraction's."""


def settled_stopping(user: Attracted, setting: str, value: Any) -> Any:
    """A table of P(stop), or the name of one."""
    owner = type(user).__name__
    if value is None:
        if not isinstance(user.attraction, str):
            raise SettingsError(
                f"{owner}: {setting} must be given with an attraction of your own: one probability per grade, or one "
                f"of {', '.join(map(repr, STOPS))}"
            )
        return user.attraction
    settled = settled_table(owner, setting, value, STOPS)
    own = user.attraction
    if isinstance(settled, tuple) and isinstance(own, tuple) and len(settled) != len(own):
        raise SettingsError(
            f"{owner}: {setting} must have one probability for each grade, as attraction has; "
            f"got {len(settled)} and {len(own)}"
        )
    return settled


def graded_stopping(user: Any, setting: str, grades: int) -> Any:
    """The same person, with the table of P(stop) for labels with so many grades."""
    return msgspec.structs.replace(user, **{setting: table_for("user", getattr(user, setting), grades, STOPS)})


def stops_of(value: Any) -> NDArray[np.float64]:
    """P(stop) by grade; without a collection, names mean five grades."""
    return np.array(table_for("user", value, GRADES, STOPS))
