"""What a learner is, to the compiled loop and to the rest of the house.

A learner's settings are a small frozen struct (`ROLTR(reward="ips+-")`). They make two named tuples: the
*model*, everything that learning changes and a snapshot must hold, and the *work* space, scratch that means nothing
between calls. Three compiled functions act on them; each learner implements them for its own model. Simulation and
live ranker call the same ones.

Whatever else somebody must know about a method (how its pages are drawn, what it can learn from, what it costs) is
asked of its settings, here, so that a new method is one file and one line in the registry.
"""

from collections import namedtuple
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, get_type_hints

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel, otherwise
from rankloop.kernels.arithmetic import whole_blocks
from rankloop.kernels.matrix import padded
from rankloop.plugins import Registry, left_out, pickled
from rankloop.policies.plackett_luce import page_log_probability
from rankloop.propensities import Propensities
from rankloop.rankers import LINEAR
from rankloop.settings import check_settings, require_usable

Feedback = Literal["clicks", "grades", "nothing"]
Weighing = Literal["step", "page", "draw"]

MAX_WEIGHT = 1e30
"""Far below what overflows in the single precision that scores are computed in."""


LEARNERS = Registry("learner")
"""Every method by its name."""


class Cost(NamedTuple):
    """Microseconds of an impression, measured by `rankloop bench`: a fixed part, and one per 125 candidates × 136
    features."""

    fixed: float = 2.0
    per_query: float = 5.0


class ShapedReward(NamedTuple):
    """What a click and its absence are worth, rank by rank."""

    name: str
    click: NDArray[np.float64]
    skip: NDArray[np.float64]


class Belief(Protocol):
    """What a method that keeps a distribution believes of its ranker's weights; it may say more."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """(features,), the mean."""

    @property
    def weights_deviation(self) -> NDArray[np.float64]:
        """(features,), standard deviations."""

    @property
    def spread(self) -> NDArray[np.float64]:
        """(features,), how much each feature varies: a weight times it is the effect."""


class Learner(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag=True,
    tag_field="learner",
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
):
    """Settings of a learning method, and what the house asks of it. The answers here are those of most methods."""

    name: ClassVar[str]
    """The method's name in tables, files and on the command line: the class's own."""
    registry: ClassVar[Registry] = LEARNERS
    learns_from: ClassVar[Feedback] = "clicks"
    """`grades`: a skyline that is told the truth."""
    ranks_by_grades: ClassVar[bool] = False
    """Whether a simulation puts the true grades in the place of the scores (the oracle)."""
    has_gradient_variance: ClassVar[bool] = False
    """Whether `learn` can measure the variance of its policy gradient over ranks."""
    needs_own_pages: ClassVar[bool] = False
    """Whether it learns only from pages that it filled itself."""
    off_policy: ClassVar[bool] = False
    """Whether its update is as right for a page that another policy drew, or an older state of its own."""
    learns_examination: ClassVar[bool] = False
    """Whether it learns by itself what a rank is worth, from where documents stand (`Page.ranks`)."""
    draws_weights: ClassVar[bool] = False
    """Whether the scores that a page is drawn with are those of weights drawn for it, and not the ranker's own."""
    weighing: ClassVar[Weighing] = "step"
    """What becomes of a page that counts for less than one. `step`: so much of its step is taken, which is all there is
    to a gradient. `page`: `learn` weighs it by `work.base.weight`. `draw`: it is learned from with that probability."""
    graded: ClassVar[bool] = True
    """Whether it learns from how much a document was worth; if not, 0.5 or more is a click, and less is none."""
    takes_more: ClassVar[bool] = False
    """Whether `learn` can take in more of a page that it has learned from: then `work.base.more` is set."""
    by_rank: ClassVar[tuple[str, ...]] = ()
    """The model's arrays that hold one value per rank of the page."""
    idle_with_weights: ClassVar[tuple[str, ...]] = ()
    """Settings that say how to begin where nobody has given weights, and nothing where somebody has."""
    cost: ClassVar[Cost] = Cost()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.name = cls.__name__

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process a method brings along its kernels."""
        return pickled(self, super().__reduce__())  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        check_settings(self, self.name)

    @classmethod
    def needs_grades(cls) -> bool:
        """Whether it needs the truth, which only a simulation knows."""
        return cls.learns_from == "grades" or cls.ranks_by_grades

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> Any:
        """The model before the first impression, from `weights` if given."""
        raise left_out(type(self), "model(features, page_size, seed, weights)")

    def work(self, features: int, page_size: int, candidates: int) -> Any:
        """Scratch for queries of up to so many candidates."""
        raise left_out(type(self), "work(features, page_size, candidates)")

    @property
    def policy_temperature(self) -> float | None:
        """T of the Plackett–Luce policy softmax(s/T) that draws the pages; None if they are drawn otherwise."""
        return None

    @property
    def start_strength(self) -> float | None:
        """How many pages of clicks given weights are believed as strongly as; None: it merely begins with them."""
        return None

    def belief(self, model: Any) -> Belief | None:
        """What a model has come to believe, with standard deviations; None if the method keeps no such thing. A
        SettingsError before it has learned anything."""
        return None

    @property
    def assumed_propensities(self) -> Propensities | None:
        """The examination curve that the method assumes; None if it assumes none."""
        return None

    def examination_of(self, model: Any, page_size: int) -> NDArray[np.float64] | None:
        """(ranks,), the curve that a model goes by: learned by now, or assumed for good; None if it goes by none."""
        assumed = self.assumed_propensities
        return None if assumed is None else assumed.at(page_size)

    @property
    def scoring_ranker(self) -> Any:
        """The ranker whose weights are learned: a linear one, unless the method can be given others."""
        return getattr(self, "ranker", LINEAR)

    def page_log_probability(self, work: Any, scores: NDArray[np.float32], page: NDArray[np.int64]) -> float:
        """log π(page) under the policy that has just drawn it, from the candidates' scores and the scratch it was
        drawn in."""
        assert self.policy_temperature is not None, f"{self.name} must say how likely its pages are"
        return page_log_probability(scores, page, self.policy_temperature)

    @property
    def remembers(self) -> bool:
        """Whether it learns of documents as such, beside their features: then it must be told which they are."""
        return False

    def with_room(self, model: Any, documents: int) -> Any:
        """The model with room for what it remembers of so many documents; for most methods, as it is."""
        return model

    def note_width(self) -> int:
        """How many numbers per shown document the learner must remember from showing to learning."""
        return 0

    def notes_of(self, scores: NDArray[np.float32], page: NDArray[np.int64]) -> NDArray[np.float32]:
        """What it would have noted of a page that another policy drew with these scores, (ranks, note width)."""
        assert self.note_width() == 0, f"{self.name} must say what it notes of a page, or that it needs its own"
        return np.zeros((len(page), 0), np.float32)

    def shaped_reward(self, page_size: int) -> ShapedReward | None:
        """The reward that the method learns from; None if it learns from none."""
        return None

    @property
    def remedy(self) -> str:
        """What helps if its weights, or the scores they give, grow beyond all numbers."""
        rate = "lower the learning rate or " if "learning_rate" in self.__struct_fields__ else ""
        return f"{rate}scale the features"

    def require_affordable(self, features: int, page_size: int) -> None:
        """Refuse settings that are possible, but would take a service down: too much memory or time, or overflow."""
        require_usable(self, self.name)
        if hasattr(self.scoring_ranker, "require_affordable"):
            self.scoring_ranker.require_affordable(features)


def require_small(what: str, weights: Iterable[float]) -> None:
    """Refuse weights whose products with features would overflow."""
    largest = max(weights, key=abs, default=0.0)
    if not abs(largest) <= MAX_WEIGHT:
        raise SettingsError(f"{what} must lie between −{MAX_WEIGHT:g} and {MAX_WEIGHT:g}; got {largest!r}")


def compiled_settings(learner: type[Learner]) -> Any:
    """A named tuple of a method's numbers and flags, for its kernels to read; `._of(settings)` fills one.

    Assign it to a module's variable of the same name: the compile cache finds the type by it.
    """
    kinds = get_type_hints(learner)
    names = [name for name in learner.__struct_fields__ if kinds[name] in (float, int, bool)]
    make: Any = namedtuple
    made = make(f"{learner.__name__}Settings", names, module=learner.__module__)
    made._of = staticmethod(lambda settings: made(*(getattr(settings, name) for name in names)))
    return made


class Work(NamedTuple):
    """Scratch that every learner needs, as `work.base`.

    `scores` is filled before `show` and `learn` are called; `weight` holds how much the page counts, from 0 to 1;
    `more` is set if it has been learned from before; `documents` names the candidates, by a number for each document of
    a query, the same whenever it comes back, 0 if nobody knows.
    """

    scores: NDArray[np.float32]
    z: NDArray[np.float64]
    keys: NDArray[np.int64]
    gradient: NDArray[np.float64]
    remaining: NDArray[np.float64]
    returns: NDArray[np.float64]
    direction: NDArray[np.float32]
    slope: NDArray[np.float32]
    weight: NDArray[np.float64]
    more: NDArray[np.bool_]
    documents: NDArray[np.int64]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int) -> "Work":
        """Scratch for so many features, ranks and candidates."""
        room = whole_blocks(candidates)
        return cls(
            scores=np.zeros(room, np.float32),
            z=np.zeros(room),
            keys=np.zeros(room, np.int64),
            gradient=np.zeros(room),
            remaining=np.zeros(page_size + 1),
            returns=np.zeros(page_size),
            direction=np.zeros(features, np.float32),
            slope=np.zeros(padded(features), np.float32),
            weight=np.ones(1),
            more=np.zeros(1, np.bool_),
            documents=np.zeros(room, np.int64),
        )


def arrays_of(model: Any, prefix: str = "", *, tables: bool = True) -> dict[str, NDArray[Any]]:
    """Every array of a model that holds something, by name, also within its ranker (`ranker.weights`): all that
    learning can change. Those of `tables`, which grow, can be left out: a page changes a few places in them, and only
    if all has gone well."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in model._asdict().items():
        if isinstance(value, np.ndarray):
            if value.size:
                arrays[prefix + name] = value
        elif hasattr(value, "_asdict") and not _is_bare(value) and (tables or not getattr(value, "is_table", False)):
            arrays |= arrays_of(value, f"{prefix}{name}.", tables=tables)
    return arrays


def _is_bare(value: Any) -> bool:
    """Whether it is a table without a place: it holds nothing, and states from before there were tables lack it."""
    return getattr(value, "is_table", False) and not value[0].size


def with_arrays(model: Any, arrays: Mapping[str, bytes], prefix: str = "", *, grows: bool = False) -> Any:
    """The model with what these bytes hold in its arrays; tables may have another size than the model's own.

    KeyError for an array that is missing, ValueError for one of another size.
    """
    held: dict[str, Any] = {}
    for name, value in model._asdict().items():
        if isinstance(value, np.ndarray):
            if value.size:
                kept = np.frombuffer(arrays[prefix + name], value.dtype)
                held[name] = (kept if grows else kept.reshape(value.shape)).copy()
        elif hasattr(value, "_asdict") and not _is_bare(value):
            held[name] = with_arrays(value, arrays, f"{prefix}{name}.", grows=getattr(value, "is_table", False))
    return model._replace(**held)


def copy_of(model: Any) -> Any:
    """A model that ranks as this one does now, whatever is learned later."""
    copies = {}
    for name, value in model._asdict().items():
        if isinstance(value, np.ndarray):
            copies[name] = value.copy()
        elif hasattr(value, "_asdict"):
            copies[name] = copy_of(value)
    return model._replace(**copies)


def believe(model: Any, documents: Any, scores: Any) -> None:
    """Put what the model knows of these very documents into the ranker's scores. Most methods know nothing of them."""
    raise TypeError(f"no compiled believe is registered for {type(model).__name__}")


@otherwise(believe)
@kernel
def believe_features(model, documents, scores):
    """The ranker's word is all there is."""


def show(model: Any, work: Any, X: Any, seed: Any, impression: Any, page: Any, notes: Any) -> None:
    """Fill `page` with the documents to show, best first, given their scores in `work.base.scores`.

    `notes` (ranks, note_width) is kept with the page until it is learned from.
    """
    raise TypeError(f"no compiled show is registered for {type(model).__name__}")


def learn(
    model: Any,
    work: Any,
    X: Any,
    seed: Any,
    impression: Any,
    page: Any,
    notes: Any,
    feedback: Any,
    measure: Any,
) -> float:
    """Update the model from what came back for a page: one click value (or grade) per shown document.

    If `measure`, a policy-gradient method returns the trace of its gradient's variance over ranks; otherwise, and for
    all other methods, the result is NaN.
    """
    raise TypeError(f"no compiled learn is registered for {type(model).__name__}")
