"""What a live model is, as one value: given when it is created, kept in the log, never changed after."""

import math
import secrets
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import msgspec

from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS, Learner, Posterior, require_compiled
from rankloop.live.events import PRECISIONS
from rankloop.live.incoming import INCOMING, sent
from rankloop.live.scaling import Fixed, Scaler, Scaling
from rankloop.mistakes import explained
from rankloop.plugins import load_installed
from rankloop.rankers import Linear, weight_names
from rankloop.settings import (
    NAME,
    Rule,
    check_settings,
    choice,
    number,
    require_number,
    require_seed,
    require_whole_number,
    settle,
    whole_number,
)

MAX_FEATURES = 10_000
MAX_PAGE = 1_000
MOST_FALL_BACK = 0.99
"""Of the people of a guarded model: its trials are the pages of the others."""

if TYPE_CHECKING:
    LiveLearner = Learner
else:
    load_installed()
    LiveLearner = Union[tuple(kind for kind in LEARNERS.values() if not kind.needs_grades())]  # noqa: UP007
    """Every learner that needs no more than clicks; a plugin's, if it is loaded before this room is entered."""


CLICK = "click"
"""The action that a report of clicks is about."""
MOST_ACTIONS = 12


def require_actions(owner: str, name: str, value: Any) -> dict[str, float]:
    """Names and values of what people can do with a document.

    >>> require_actions("model", "actions", {"buy": 2})
    Traceback (most recent call last):
    rankloop.errors.SettingsError: model: the value of action 'buy' must be a number, at least 0 and at most 1; got 2
    """
    if not isinstance(value, dict) or not 1 <= len(value) <= MOST_ACTIONS:
        raise SettingsError(f"{owner}: {name} must be 1 to {MOST_ACTIONS} names with their values; got {value!r}")
    if wrong := [action for action in value if not isinstance(action, str) or not NAME.fullmatch(action)]:
        raise SettingsError(
            f"{owner}: an action's name must be 1 to 64 letters, digits, dots, dashes or underscores, and begin with a "
            f"letter or digit; got {wrong[0]!r}"
        )
    worth = {
        action: require_number(owner, f"the value of action {action!r}", worth, at_least=0, at_most=1)
        for action, worth in value.items()
    }
    if not any(worth.values()):
        raise SettingsError(f"{owner}: one of the {name} must be worth more than 0, or there is nothing to learn from")
    return worth


class Zeros(msgspec.Struct, frozen=True, tag="zeros", tag_field="from", forbid_unknown_fields=True):
    """Begin as the method does: it knows nothing, and shows everything."""


class Weights(msgspec.Struct, frozen=True, tag="weights", tag_field="from", forbid_unknown_fields=True):
    """Begin with these weights: one per feature, or for a network all of them, flat, as its export has them.

    To `Posterior` they are a belief that clicks may correct (`start_pages`). A softmax policy of a linear ranker gets
    a temperature with which their first result stays first with probability `keeps_first`, unless that is None or the
    learner has a temperature already; `sample` holds the scores of some typical queries, one list per query; without
    it, `candidates` evenly spaced scores stand for a query.
    """

    weights: tuple[float, ...]
    keeps_first: Annotated[float | None, number(above=0, at_most=0.999999, optional=True)] = 0.9
    sample: tuple[tuple[float, ...], ...] = ()
    candidates: Annotated[int, whole_number(at_least=2)] = 100

    def __post_init__(self) -> None:
        check_settings(self, "start")


class IncomingOrder(msgspec.Struct, frozen=True, tag="incoming", tag_field="from", forbid_unknown_fields=True):
    """Begin in the order in which candidates arrive: their places are a feature, `_incoming`, or its score is.

    What that means is the learner's: to `Posterior` the engine's word is a belief that clicks may correct. A softmax
    policy is given a temperature with which the engine's first result stays first with probability `keeps_first` (a
    weight, if it has a temperature already); `sample` holds the engine's scores for some typical queries, one list per
    query; without it, `candidates` evenly spaced scores stand for a query, or as many places.

    Attributes:
        feature: the name or place of the engine's score; None: the order alone is known.
        caution: `Posterior`'s first pages are made of the engine's first results, ten more than a page shows, and
            reach further down as the model learns: after n pages n/10 + (n/50)² further, divided by this. 0:
            everything at once.
    """

    feature: str | int | None = None
    keeps_first: Annotated[float, number(above=0, at_most=0.999999)] = 0.9
    sample: tuple[tuple[float, ...], ...] = ()
    candidates: Annotated[int, whole_number(at_least=2)] = 100
    caution: Annotated[float, number(at_least=0)] = 1.0

    def __post_init__(self) -> None:
        check_settings(self, "start")
        if self.feature is None and self.sample:
            raise SettingsError(
                "start: a sample holds scores of the engine; name the feature that they are, or leave it out"
            )

    def reach(self, page_size: int, learned: int) -> float:
        """How many of the engine's results can be on a page after so many learned ones.

        >>> IncomingOrder("bm25").reach(page_size=10, learned=100)
        34.0
        """
        if self.caution == 0:
            return math.inf
        return page_size + 10 + (learned / 10 + (learned / 50) ** 2) / self.caution


Start = Zeros | Weights | IncomingOrder | Literal["zeros", "incoming"]
WORDS: dict[str, Zeros | IncomingOrder] = {"zeros": Zeros(), "incoming": IncomingOrder()}
"""A word stands for a start that needs no more."""


class Guards(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What keeps a model, and the people who see it, safe.

    Attributes:
        control: the share of clients who see the incoming order, so that the gain can be measured; 0: it cannot be.
        update_cap: no impression moves the weights further than this (Euclidean distance); None: no cap.
        client_pages: all pages of one client never count for more than so many; the first half in full, later ones less
            and less. 0: no limit.
        client_share: so many more for each page that was learned from others.
        anonymous_share: impressions without a client count together for no more than `client_pages`, and so many more
            for each page that was learned from somebody with a name.
        one_sided: whoever clicks for one feature, page after page, counts less and less, once chance would have at most
            this share of people click so; 0: what somebody clicks on does not change what their pages count.
        falls_back: while the learned order is worse than the control's beyond chance, this share of all others sees the
            incoming order too, 0.99 at most: the others try whether it has become better; 0: never.
        stale_below: a policy gradient does not learn from a page whose ranks its policy would now fill as they were
            with less than this share of the probability they were drawn with (geometric mean); 0: from every page.
    """

    control: Annotated[float, number(at_least=0, at_most=1)] = 0.05
    update_cap: Annotated[float | None, number(above=0, optional=True)] = None
    client_pages: Annotated[int, whole_number(at_most=1_000_000)] = 20
    client_share: Annotated[float, number(at_least=0, at_most=1)] = 0.01
    anonymous_share: Annotated[float, number(at_least=0, at_most=1)] = 1.0
    one_sided: Annotated[float, number(at_least=0, at_most=0.5)] = 0.1
    falls_back: Annotated[float, number(at_least=0, at_most=1)] = 0.9
    stale_below: Annotated[float, number(at_least=0, at_most=0.5)] = 0.01

    def __post_init__(self) -> None:
        check_settings(self, "guards")
        if self.falls_back > MOST_FALL_BACK:
            raise SettingsError(
                f"guards: falls_back must be at most {MOST_FALL_BACK:g}; got {self.falls_back:g}: somebody must still "
                f"see the learned order, or it could never prove itself again"
            )

    @property
    def compares(self) -> bool:
        """Whether the learned order is held against the control's, and anything follows from it."""
        return self.falls_back > 0 and 0 < self.control < 1


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A live model.

    Attributes:
        name: letters, digits, dots, dashes and underscores; part of its address.
        features: names, or how many; one called `_incoming` is not sent: it says where a candidate stood.
        learner: settings of a method, such as `{"learner": "ROLTR", "learning_rate": 0.01}`; `Posterior` needs none.
        page_size: how many documents a page shows at most.
        seed: every page is a function of it, the weights and the impression's number; drawn once if not given.
        start: where the weights begin.
        scaling: what happens to features before they are scored.
        precision: in which features are stored, and therefore ranked.
        missing: stands for a named feature that a candidate lacks; None: every one must be given.
        window: seconds after which an impression closes by itself.
        late_updates: against the scores that drew the page (`drawn`), or the `current` ones.
        swaps: count how neighbours on a page were exchanged and clicked, to tell how far people look.
        guards: limits on what one impression, one client and one experiment can do.
        actions: what people can do with a document, and how much each is worth, from 0 to 1.
        evidence: count how the learned order does on frequent queries and in segments.
        alerts: watch features and how far people look, and note when something changes.
        challenges: of a challenger, the model from whose pages it learns; None: it shows pages of its own.

    >>> ModelSettings(name="shop", features=["bm25", "price"]).features
    ('bm25', 'price')
    """

    name: str
    features: Annotated[tuple[str, ...] | int, msgspec.Meta(examples=[["bm25", "price"]])]
    learner: LiveLearner = Posterior()
    page_size: Annotated[int, whole_number(at_least=1, at_most=MAX_PAGE)] = 10
    seed: int | None = None
    start: Start = Zeros()
    scaling: Scaling = "robust"
    precision: Annotated[str, choice(PRECISIONS)] = "float32"
    missing: Annotated[float | None, number(optional=True)] = None
    window: Annotated[float, number(above=0, at_most=30 * 86400)] = 1800.0
    late_updates: Literal["current", "drawn"] = "drawn"
    swaps: bool = True
    guards: Guards = Guards()
    actions: Annotated[
        dict[str, float], Rule(require_actions), msgspec.Meta(examples=[{CLICK: 0.02, "purchase": 1}])
    ] = msgspec.field(default_factory=lambda: {CLICK: 1.0})
    evidence: bool = True
    alerts: bool = True
    challenges: str | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise SettingsError(
                f"model: name must be 1 to 64 letters, digits, dots, dashes or underscores, and begin with a letter "
                f"or digit; got {self.name!r}"
            )
        check_settings(self, "model")
        start = WORDS[self.start] if isinstance(self.start, str) else self.start
        names, scaling = feature_names(self.features), self.scaling
        if isinstance(start, IncomingOrder) and start.feature is None and INCOMING not in names:
            if isinstance(scaling, Fixed) and len(scaling.shift) <= len(names):
                # Numbers are given for what is sent; places are logarithms, and need none.
                Scaler(scaling, len(names))
                scaling = Fixed((*scaling.shift, 0.0), (*scaling.spread, 1.0))
            names = (*names, INCOMING)
        settle(
            self,
            start=start,
            features=names,
            scaling=scaling,
            seed=require_seed("model", secrets.randbits(53) if self.seed is None else self.seed),
        )
        self._check_together()

    def _check_together(self) -> None:
        """What no single setting can say: counts that must agree."""
        names = self.names
        if isinstance(self.scaling, Fixed):
            Scaler(self.scaling, len(names))
        if isinstance(self.start, Weights) and self.is_linear and len(self.start.weights) != len(names):
            raise SettingsError(f"start: {len(self.start.weights)} weights were given for {len(names)} features")
        if isinstance(self.start, IncomingOrder):
            self.incoming_index(self.start)
            if not self.is_linear:
                raise SettingsError(
                    f"start: the incoming order is the weight of one feature, which {self.learner.scoring_ranker!r} "
                    f"does not have; begin from 'zeros', or from 'weights' that were learned elsewhere"
                )
        self._check_values()
        # Building the model once makes the method's own checks: weights, propensities for every rank, …
        weights = self.start.weights if isinstance(self.start, Weights) else None
        require_compiled("model", self.learner, self.learner.model(len(names), self.page_size, self.seed or 0, weights))

    def _check_values(self) -> None:
        """Refuse values that the method would take for nothing, or for everything."""
        between = [f"{name} {value:g}" for name, value in self.actions.items() if 0 < value < 1]
        if between and not self.learner.graded:
            raise SettingsError(
                f"actions: {self.learner.name} counts a value of 0.5 or more as a click and less as none, so it cannot "
                f"learn from {', '.join(between)}; use values of 0 and 1, or Posterior, ROLTR or PLRank"
            )

    @property
    def has_actions(self) -> bool:
        """Whether there is more to do with a document than to click on it: then late actions count, too."""
        return self.actions != {CLICK: 1.0}

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names."""
        return self.features  # type: ignore[return-value]

    @property
    def sent(self) -> tuple[str, ...]:
        """The names of those that callers send."""
        return sent(self.names)

    @property
    def is_linear(self) -> bool:
        """Whether each feature has one weight, which says what the model thinks of it."""
        return isinstance(self.learner.scoring_ranker, Linear)

    @property
    def weight_names(self) -> list[str]:
        """What each weight of its ranker is called: for a linear one, as its feature."""
        return weight_names(self.learner.scoring_ranker, self.names)

    def incoming_index(self, start: IncomingOrder) -> int:
        """The place of the feature that carries the engine's order."""
        return self.feature_index(INCOMING if start.feature is None else start.feature)

    def feature_index(self, feature: str | int) -> int:
        """The place of a feature that is given by name or place."""
        if isinstance(feature, int):
            if 0 <= feature < len(self.names):
                return feature
        elif feature in self.names:
            return self.names.index(feature)
        raise SettingsError(f"start: there is no feature {feature!r}; features are {_listed(self.names)}")


class NewModelSettings(ModelSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A live model as somebody asks for it, over HTTP.

    Whoever says nothing of the start begins where they are, in the incoming order, if that is a belief to the learner,
    as it is to `Posterior`. Other methods begin as they do in their papers: a start would choose their learning rate.

    >>> NewModelSettings(name="shop", features=["bm25", "price"], seed=1).names
    ('bm25', 'price', '_incoming')
    """

    start: Start | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.start is None:
            believes = self.is_linear and self.learner.start_strength is not None
            settle(self, start=IncomingOrder() if believes else Zeros())
        super().__post_init__()


def stored_settings(text: bytes) -> ModelSettings:
    """The settings of a model that was made earlier. They are kept whole: what is missing was not there then."""
    kept = msgspec.json.decode(text)
    if isinstance(kept, dict):
        kept.setdefault("swaps", False)
        kept.setdefault("evidence", False)
        kept.setdefault("alerts", False)
        if isinstance(kept.get("learner"), dict) and kept["learner"].get("learner") == Posterior.__name__:
            kept["learner"].setdefault("memory", 0)  # of what documents are worth beyond their features
            for name in ("common_variance", "common_weight"):
                kept["learner"].setdefault(name, 0.0)
        if isinstance(kept.get("actions"), dict):
            # A name could be empty once, and such an action could never be reported.
            kept["actions"] = {name or "unnamed": value for name, value in kept["actions"].items()}
        if isinstance(kept.get("guards"), dict):
            share = kept["guards"].setdefault("falls_back", 0.0)
            if isinstance(share, int | float) and MOST_FALL_BACK < share <= 1:
                # Up to 1 was allowed once, and then a model that had fallen back could not come back.
                kept["guards"]["falls_back"] = MOST_FALL_BACK
            kept["guards"].setdefault("stale_below", 0.0)
            kept["guards"].setdefault("one_sided", 0.0)
            if (window := kept["guards"].pop("influence_window", None)) is not None:
                # One client once made up at most a share of the last so many pages; 0 was no limit.
                kept["guards"]["client_pages"] = Guards().client_pages if window else 0
    try:
        return msgspec.convert(kept, ModelSettings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{explained(error, ModelSettings, kept)}{where_from(kept)}") from None


def where_from(given: Any) -> str:
    """For a sentence about a model's settings: where its learner would come from, if nobody here knows it.

    >>> where_from({"learner": {"learner": "Nearest"}})
    '. If Nearest is your own, name the module that brings it at the start: --plugin MODULE'
    """
    learner = given.get("learner") if isinstance(given, dict) else None
    name = learner.get("learner") if isinstance(learner, dict) else None
    if not isinstance(name, str) or name in LEARNERS:
        return ""
    return f". If {name} is your own, name the module that brings it at the start: --plugin MODULE"


def feature_names(features: Any) -> tuple[str, ...]:
    """Names as they are, or `f1` … for a count.

    >>> feature_names(3)
    ('f1', 'f2', 'f3')
    """
    if isinstance(features, int):
        count = require_whole_number("model", "features", features, at_least=1)
        names = tuple(f"f{i + 1}" for i in range(min(count, MAX_FEATURES + 1)))
    else:
        names = tuple(features)
    if not 1 <= len(names) <= MAX_FEATURES:
        raise SettingsError(f"model: features must be 1 to {MAX_FEATURES}; got {'more' if names else 'none'}")
    if not sent(names):
        raise SettingsError(f"model: features must name one that is sent, beside {INCOMING!r}")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise SettingsError(f"model: every feature needs a different name; {twice!r} appears twice")
    if any(not name or len(name) > 200 for name in names):
        raise SettingsError("model: a feature's name must have 1 to 200 characters")
    return names


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
