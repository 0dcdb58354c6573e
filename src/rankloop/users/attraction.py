"""What makes somebody click on a document they look at: its grade by a table, its gain, or an attribute of its own."""

from typing import Annotated, Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.data.collection import Collection, Split
from rankloop.errors import SettingsError
from rankloop.settings import check_settings, number, require_choice, require_probabilities, settle
from rankloop.users.contract import User

# P(click | examined) by grade, for five- and three-grade labels. Perfect and noisy are the paper's Table 1. Perfect,
# navigational, informational and almost random are the people of the online learning to rank literature (Hofmann et
# al., 2013; Oosterhuis and de Rijke, 2018): informational clicks are the paper's noisy ones, under an older name.
_NOISY = {5: (0.4, 0.6, 0.7, 0.8, 0.9), 3: (0.4, 0.7, 0.9)}
_NEAR_RANDOM = {5: (0.4, 0.45, 0.5, 0.55, 0.6), 3: (0.4, 0.5, 0.6)}
ATTRACTIONS: dict[str, dict[int, tuple[float, ...]]] = {
    "perfect": {5: (0.0, 0.2, 0.4, 0.8, 1.0), 3: (0.0, 0.5, 1.0)},
    "noisy": _NOISY,
    "navigational": {5: (0.05, 0.3, 0.5, 0.7, 0.95), 3: (0.05, 0.5, 0.95)},
    "near-random": _NEAR_RANDOM,
    "informational": _NOISY,
    "almost-random": _NEAR_RANDOM,
}
GRADES = 5
"""Which table a named person uses where no collection says how many grades there are."""


class ByGain(msgspec.Struct, frozen=True, tag="gain", tag_field="by", forbid_unknown_fields=True):
    """γ(y) = ε + (1 − ε)(2^y − 1)/(2^max − 1): attraction grows as nDCG's gain does; ε is the noise.

    >>> ByGain(noise=0.1).table(grades=3)
    (0.1, 0.4, 1.0)
    """

    noise: Annotated[float, number(at_least=0, at_most=1)] = 0.1

    def __post_init__(self) -> None:
        check_settings(self, "ByGain")

    def table(self, grades: int) -> tuple[float, ...]:
        """P(click | examined) for each grade."""
        gains = [(2**grade - 1) / (2 ** (grades - 1) - 1) for grade in range(grades)]
        return tuple(self.noise + (1.0 - self.noise) * gain for gain in gains)


class ByAttribute(msgspec.Struct, frozen=True, tag="attribute", tag_field="by", forbid_unknown_fields=True):
    """γ is an attribute of the document, whatever its grade: a hidden taste, made from price or freshness.

    The collection must have it (`data.with_attributes(taste=…)`), or a plugin bring it (`@rl.attribute`), as
    probabilities.
    """

    attribute: str

    def values(self, split: Split | None) -> NDArray[np.float64]:
        """(documents,), the attraction of each."""
        if split is None:
            raise SettingsError(
                f"attraction is the attribute {self.attribute!r} of the documents; say which they are: rows=…, split=…"
            )
        return split.attribute(self.attribute)


Attraction = tuple[float, ...] | str | ByGain | ByAttribute
"""P(click | examined) by grade, as a table or the name of one; by gain; or by an attribute of the document."""


def settled_table(owner: str, name: str, value: Any, named: dict[str, Any]) -> Any:
    """One probability per grade, or the name of such a table."""
    if isinstance(value, str):
        return require_choice(owner, name, value, named)
    return require_probabilities(owner, name, value)


def table_for(owner: str, value: Any, grades: int, named: dict[str, dict[int, tuple[float, ...]]]) -> tuple[float, ...]:
    """The table for labels with so many grades, if it goes by a name; else the one that was given."""
    if not isinstance(value, str):
        return tuple(value)
    if grades not in named[value]:
        raise SettingsError(
            f"{owner} {value!r} is defined for 5 or 3 grades; got {grades!r}. "
            f"For others give your own table: PositionBased(attraction=[...])"
        )
    return named[value][grades]


class Attracted(User, frozen=True):
    """Somebody whose clicks depend on the attraction of documents: the base of every kind but mixtures and drifts."""

    attraction: Attraction

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not isinstance(self.attraction, (ByGain, ByAttribute)):
            settle(self, attraction=settled_table(owner, "attraction", self.attraction, ATTRACTIONS))
        super().__post_init__()

    @property
    def taste(self) -> str:
        """What draws this person, in a word."""
        if isinstance(self.attraction, str):
            return self.attraction
        if isinstance(self.attraction, ByGain):
            return "gain"
        return self.attraction.attribute if isinstance(self.attraction, ByAttribute) else "custom"

    def default_name(self) -> str:
        """The taste, and the kind."""
        return f"{self.taste} {super().default_name()}"

    @property
    def attributes(self) -> tuple[str, ...]:
        """What the attraction is, if it is an attribute."""
        return (self.attraction.attribute,) if isinstance(self.attraction, ByAttribute) else ()

    @property
    def grades(self) -> int | None:
        """How many grades there are tables for; None: any, because only an attribute counts."""
        if isinstance(self.attraction, ByAttribute):
            return None
        return len(self.attraction) if isinstance(self.attraction, tuple) else GRADES

    def graded(self, grades: int) -> Self:
        """The same person, with the tables for labels with so many grades."""
        if isinstance(self.attraction, ByGain):
            return msgspec.structs.replace(self, attraction=self.attraction.table(grades))
        if isinstance(self.attraction, str):
            return msgspec.structs.replace(self, attraction=table_for("user", self.attraction, grades, ATTRACTIONS))
        return self

    def require_fit(self, data: Collection) -> None:
        """Refuse a collection with other grades than the table's, or without the attribute."""
        super().require_fit(data)
        if isinstance(self.attraction, ByAttribute):
            values = self.attraction.values(data.train)
            if not ((values >= 0.0) & (values <= 1.0)).all():
                raise SettingsError(
                    f"user {self.name!r}: the attribute {self.attraction.attribute!r} of {data.name} must hold "
                    f"probabilities in [0, 1]; it goes from {values.min():g} to {values.max():g}"
                )

    def gammas(self, split: Split | None) -> tuple[NDArray[np.float64], bool]:
        """Attraction by grade, False; or by row of the split, True. Without a collection, names mean five grades."""
        if isinstance(self.attraction, ByAttribute):
            return self.attraction.values(split), True
        settled = self.attraction if isinstance(self.attraction, tuple) else self.graded(GRADES).attraction
        return np.array(settled), False
