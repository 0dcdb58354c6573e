"""A learner that is an object, or a person that is a function: code in the place of settings."""

import inspect
from copy import deepcopy
from typing import Any

from numpy.typing import ArrayLike

from rankloop.data.collection import Collection, Split
from rankloop.errors import SettingsError
from rankloop.rankers.linear import LINEAR


class Bare:
    """A learner that is an object, or a person that is a function, in the place of settings."""

    learns_from = "clicks"
    ranks_by_grades = False
    has_gradient_variance = False
    scoring_ranker = LINEAR
    remedy = "take smaller steps or scale the features"

    def __init__(self, given: Any) -> None:
        self.given = given
        kind = given if inspect.isroutine(given) else type(given)
        self.name = str(getattr(given, "name", None) or kind.__name__)
        self.place = f"{kind.__module__}.{kind.__qualname__}"

    def model(self, _features: int, _page_size: int, _seed: int, weights: ArrayLike | None) -> Any:
        """The object as it is: a copy learns, so that the same call gives the same run."""
        if weights is not None:
            raise SettingsError(f"simulate: {self.name} is an object and has its own start; leave weights out")
        return deepcopy(self.given)

    def compiled(self, _page_size: int, _split: Split) -> Any:
        """The function itself, or a copy of an object that is called like one."""
        return deepcopy(self.given)

    def on(self, _data: Collection) -> "Bare":
        """A function fits every collection, as far as anybody knows."""
        return self

    def settings(self, what: str) -> dict[str, str]:
        """What a run says of it: code has no settings that could be written down."""
        return {what: self.name, "python": self.place}


def taken_as(kind: type, given: Any) -> Any:
    """Settings of a kind as they are, an object or a function that can take their place as such."""
    if isinstance(given, (kind, type)):
        return given
    fits = is_learner(given) if hasattr(kind, "learns_from") else callable(given)
    return Bare(given) if fits else given


def is_learner(model: Any) -> bool:
    """Whether it is a learner in plain Python."""
    return all(callable(getattr(model, verb, None)) for verb in ("rank", "learn"))


def is_plain(model: Any, person: Any) -> bool:
    """Whether what settings make is an object or a function, and no named tuple that kernels are compiled for."""
    return is_learner(model) or callable(person)
