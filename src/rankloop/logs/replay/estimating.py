"""What states of a model would have earned on pages that none of them has learned from.

Each evaluated impression is weighed for each state with the scores that drew it (see `rankloop.offpolicy`); pages that
were not drawn with known probabilities at every rank are left out, and counted by why.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import DataError
from rankloop.live.events import Closing, Event, Group, Impression, Kind, decode
from rankloop.live.experiments import client_number
from rankloop.live.settings import ModelSettings
from rankloop.live.shadow import (
    IMPOSSIBLE,
    OffPolicy,
    Shadow,
    has_known_probabilities,
    logged_policy,
    says_nothing,
)
from rankloop.live.views import View
from rankloop.offpolicy import (
    Estimate,
    Evidence,
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
        values: clicks or value per page, of the policy that drew the pages and of every candidate.
        differences: paired, of the last candidate and each of the others, but for those that have seen the answers.
        corrected: of the last candidate beside the policy that drew the pages, with limited weights, where what is cut
            off counts as average: something can be said where the others refuse; None without a page.
        unit: what pages earn: `clicks`, or `value` where the model names its actions.
    """

    impressions: int
    left_out: dict[str, int]
    examination: list[float]
    values: list[Value]
    differences: list[Value]
    corrected: OffPolicy | None = None
    unit: str = "clicks"


class Evaluator:
    """Collects the evidence of one impression after the other. `drawers`: whose settings drew pages, by reign, if a
    challenger was ever promoted. `unit`: what pages earn."""

    def __init__(
        self,
        logged: ModelSettings,
        candidates: list[Candidate],
        theta: NDArray[np.float64],
        drawers: Mapping[int, ModelSettings] | None = None,
        unit: str = "clicks",
    ) -> None:
        self._unit = unit
        self._logged = logged
        self._drawers = drawers or {}
        self._corrected = Shadow()
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
        else:
            who = client_number(shown.client, shown.number)
            if why := self._weigh(decode(shown.kind, shown.body), np.array(closing.clicks), who):
                self.left_out[why] += 1

    def _weigh(self, impression: Impression, clicks: NDArray[np.float64], who: int) -> str | None:
        """Add what the page says of every candidate; or why it says nothing."""
        drawer = self._drawers.get(impression.reign, self._logged)
        if why := says_nothing(impression, drawer):
            if impression.group == Group.LEARNED and not impression.greedy and not has_known_probabilities(drawer):
                self._unweighed.append(clicks)
            return why
        ranks, free, places = impression.drawn()
        drawn = impression.score_values()[free]
        try:
            weights = [
                weigh(
                    drawn, candidate.view.scores_of(impression, self._logged.precision)[free], places,
                    examination=self._theta[ranks], logged=logged_policy(drawer), new=candidate.policy,
                )
                for candidate in self._candidates
            ]  # fmt: skip
        except DataError:
            return IMPOSSIBLE
        for candidate, its_weights in zip(self._candidates, weights, strict=True):
            self._weights[candidate.name].append(its_weights)
        self._clicks.append(clicks[ranks])
        self._corrected.add(weights[-1].examination, self._theta[ranks], clicks[ranks], who)
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
        corrected = self._corrected.found(self._unit) if self._clicks else None
        left_out, theta = dict(self.left_out), self._theta.tolist()
        return Evaluation(len(self._clicks), left_out, theta, values, differences, corrected, self._unit)

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
