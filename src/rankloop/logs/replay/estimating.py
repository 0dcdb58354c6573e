"""What states of a model would have earned on pages that none of them has learned from.

Each evaluated impression is weighed for each state with the scores that drew it (see `rankloop.offpolicy`); pages that
were not drawn with known probabilities at every rank are left out, and counted by why.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import DataError
from rankloop.live.events import Closing, Event, Group, Impression, Kind, decode
from rankloop.live.fold import View
from rankloop.live.settings import ModelSettings
from rankloop.offpolicy import (
    Estimate,
    Evidence,
    Greedy,
    PlackettLuce,
    Policy,
    Rules,
    Weights,
    difference,
    estimate,
    examination_model,
    item_position,
    on_policy,
    weigh,
)
from rankloop.propensities import PowerLaw, Propensities
from rankloop.propensities.curves import BELIEF

ESTIMATORS = {"examination model": examination_model, "item-position": item_position}


class Candidate(NamedTuple):
    """A state to evaluate: its name, what ranks, and how pages would be drawn from its scores."""

    name: str
    view: View
    policy: Policy
    fair: bool = True
    """Whether it has not learned from what is evaluated."""


class Value(msgspec.Struct, frozen=True):
    """What a policy would have earned per page, by one estimator and one way to treat its weights."""

    policy: str
    estimator: str
    method: str
    estimate: Estimate


class Evaluation(msgspec.Struct, frozen=True):
    """What the part of the log that was held back says.

    Attributes:
        impressions: how many were evaluated.
        left_out: how many were not, by why.
        examination: the probability of examination that the examination model assumes, by rank.
        values: clicks per page, of the policy that drew the pages and of every candidate.
        differences: paired, of the last candidate and each of the others, but for those that have seen the answers.
    """

    impressions: int
    left_out: dict[str, int]
    examination: list[float]
    values: list[Value]
    differences: list[Value]


def policy_of(settings: ModelSettings) -> Policy:
    """How a model with these settings would draw pages, given its own scores; those that compare rankers or draw their
    weights are taken at their best order."""
    return Greedy() if settings.learner.draws_weights else logged_policy(settings)


def logged_policy(settings: ModelSettings) -> Policy:
    """How a model with these settings drew pages, given the scores in the log."""
    spread = settings.learner.policy_temperature
    return Greedy() if spread is None else PlackettLuce(spread)


def examination_of(settings: ModelSettings, then: View, eta: float | None = None) -> NDArray[np.float64]:
    """The probability that each rank is examined: (1/k)^η, or as the model had learned or assumed by then."""
    if eta is not None:
        return PowerLaw(eta).at(settings.page_size)
    learned: NDArray[np.float64] | None = getattr(then.model, "log_examination", None)
    if learned is not None:
        relative: NDArray[np.float64] = np.exp(learned - learned.max())
        return relative
    curve: Propensities = getattr(settings.learner, "propensities", BELIEF)
    return curve.at(settings.page_size)


class Evaluator:
    """Collects the evidence of one impression after the other."""

    def __init__(self, logged: ModelSettings, candidates: list[Candidate], theta: NDArray[np.float64]) -> None:
        self._logged = logged
        self._policy = logged_policy(logged)
        self._candidates = candidates
        self._theta = theta
        self._clicks: list[NDArray[np.float64]] = []
        self._weights: dict[str, list[Weights]] = {candidate.name: [] for candidate in candidates}
        self._unweighed: list[NDArray[np.float64]] = []
        """Clicks on learned pages that say nothing of other policies, but do of the one that drew them."""
        self.left_out: Counter[str] = Counter()

    def take(self, event: Event, shown: Event | None) -> None:
        """One closed impression."""
        closing: Closing = decode(event.kind, event.body)
        if closing.why == "void":
            self.left_out["never seen"] += 1
        elif shown is None or shown.kind != Kind.SHOWN:
            self.left_out["erased or compacted away"] += 1
        elif why := self._weigh(decode(shown.kind, shown.body), np.array(closing.clicks)):
            self.left_out[why] += 1

    def _weigh(self, impression: Impression, clicks: NDArray[np.float64]) -> str | None:
        """Add what the page says of every candidate; or why it says nothing."""
        if impression.group != Group.LEARNED:
            return f"{Group(impression.group).name.lower()} group"
        if impression.greedy:
            return "shown without exploration"
        if not isinstance(self._policy, PlackettLuce):
            self._unweighed.append(clicks)
            return f"drawn by {self._logged.learner.name}, whose pages have no probability for each rank"
        ranks, free, places = impression.drawn()
        if len(ranks) == 0:
            return "pinned"
        drawn = impression.score_values()[free]
        raw = impression.matrix(self._logged.precision)
        try:
            weights = [
                weigh(
                    drawn, candidate.view.scores(candidate.view.scaler.apply(raw))[free], places,
                    examination=self._theta[ranks], logged=self._policy, new=candidate.policy,
                )
                for candidate in self._candidates
            ]  # fmt: skip
        except DataError:
            return "all but impossible under its own scores"
        for candidate, its_weights in zip(self._candidates, weights, strict=True):
            self._weights[candidate.name].append(its_weights)
        self._clicks.append(clicks[ranks])
        return None

    def conclude(self, rules: Sequence[Rules]) -> Evaluation:
        """All estimates, each with its interval or the reason why there is none."""
        values: list[Value] = []
        differences: list[Value] = []
        if earned := self._clicks or self._unweighed:
            values.append(Value("logged", "on-policy", "plain", estimate(on_policy(earned), rules[0])))
        if self._clicks:
            for name, build in ESTIMATORS.items():
                evidence = {policy: build(weights, self._clicks) for policy, weights in self._weights.items()}
                for rule in rules:
                    values += [
                        Value(policy, name, rule.method, estimate(log, rule)) for policy, log in evidence.items()
                    ]
                    differences += self._differences(name, evidence, rule)
        return Evaluation(len(self._clicks), dict(self.left_out), self._theta.tolist(), values, differences)

    def _differences(self, name: str, evidence: dict[str, Evidence], rule: Rules) -> list[Value]:
        last = self._candidates[-1].name
        new = evidence[last]._replace(name=last)
        fair = [candidate.name for candidate in self._candidates if candidate.fair]
        against = {"logged": on_policy(self._clicks), **{policy: evidence[policy] for policy in fair}}
        return [
            Value(f"{last} − {other}", name, rule.method, difference(new, against[other]._replace(name=other), rule))
            for other in against
            if other != last
        ]
