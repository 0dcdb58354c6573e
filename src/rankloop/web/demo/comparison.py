"""Three learners that start from the engine's order, so that they can be compared.

The *model* ranks what people see. The *rival* is another method, with pages of its own. The *shadow* draws no pages: it
has the model's settings, and is fed the rival's impressions. Model and rival live in the service and are spoken to over
its public API alone; the shadow is a ranker of the core that reads over the rival's shoulder.
"""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.client import AsyncClient, ServiceError
from rankloop.errors import RankloopError
from rankloop.learners import ROLTR, Learner, Posterior
from rankloop.online import OnlineRanker, Page
from rankloop.rewards import REWARDS
from rankloop.settings import require_choice, require_number
from rankloop.web.demo.engine import Candidates, engine_order
from rankloop.web.demo.features import FEATURES

MODEL, RIVAL = "rankloop-demo", "rankloop-demo-rival"
PAGE_SIZE = 10
METHODS = ("Posterior", "ROLTR")
STEPS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""The learning rates that the page offers."""
POSTERIOR = Posterior(start_pages=10)
"""Told nothing, but that somebody who tries a demo wants to see their clicks count: the engine's word is ten pages'."""
FIRST = 2.5
"""A posterior's weight for `engine_rank` before the first click: scores of 50 candidates then have a spread of ½."""
_OPEN_SECONDS = 86_400.0  # a page that nobody clicks waits a day: only clicks teach while somebody tries the demo


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What the learners go by: methods, and the reward and step of those that have one."""

    learner: str = "Posterior"
    reward: str = "ips+-"
    step: float = 0.01
    rival_learner: str = "ROLTR"
    rival_reward: str = "ips+-"
    rival_step: float = 0.01

    def __post_init__(self) -> None:
        for name in ("learner", "rival_learner"):
            require_choice("demo", name, getattr(self, name), METHODS)
        for name in ("reward", "rival_reward"):
            require_choice("demo", name, getattr(self, name), REWARDS)
        for name in ("step", "rival_step"):
            require_number("demo", name, getattr(self, name), above=0, at_most=1)

    @property
    def model(self) -> Learner:
        """The learner behind the pages that people see, and of the shadow."""
        return POSTERIOR if self.learner == "Posterior" else ROLTR(reward=self.reward, learning_rate=self.step)

    @property
    def rival(self) -> Learner:
        """The learner of the rival."""
        if self.rival_learner == "Posterior":
            return POSTERIOR
        return ROLTR(reward=self.rival_reward, learning_rate=self.rival_step)


def start_of(learner: Learner) -> NDArray[np.float64]:
    """(features,) weights with which a method starts from the engine's order: a posterior's are as large as it would
    make them itself, so that its first lesson does not seem to be about that."""
    weights = engine_order()
    return weights / weights.max() * FIRST if isinstance(learner, Posterior) else weights


def words(learner: Learner) -> str:
    """A method in a few words."""
    if isinstance(learner, ROLTR):
        return f"ROLTR, {learner.reward}, α = {learner.learning_rate:g}"
    return f"{learner.name}, told nothing"


class Belief(NamedTuple):
    """A model as the service describes it: weights (features,), and how many lessons they come from."""

    weights: NDArray[np.float64]
    version: int


class Shown(NamedTuple):
    """A page that a model drew for these candidates. Without an impression it is a fallback, and teaches nothing."""

    model: str
    candidates: Candidates
    impression: str | None
    ranking: list[str]
    version: int
    reason: str | None


class Comparison:
    """The three learners.

    Args:
        client: a connection to the service that the demo runs beside.
        seed: every page is a function of it, the weights and the impression's number.
    """

    def __init__(self, client: AsyncClient, seed: int) -> None:
        self._client = client
        self._seed = seed
        self.rules = Rules()
        self._shadow = self._fresh_shadow()

    async def begin(self, rules: Rules) -> None:
        """Make both models anew, as the rules say; what an earlier demo left in this log is forgotten."""
        existing = {model["name"] for model in await self._client.models()}
        for name, learner in ((MODEL, rules.model), (RIVAL, rules.rival)):
            if name in existing:
                await self._client.delete_model(name)
            await self._client.create_model(
                name,
                list(FEATURES),
                learner=msgspec.to_builtins(learner),
                start={"from": "weights", "weights": start_of(learner).tolist(), "keeps_first": None},
                scaling="none",
                page_size=PAGE_SIZE,
                seed=self._seed,
                window=_OPEN_SECONDS,
                # Whoever tries the demo may be its only visitor, and all their clicks count.
                guards={"control": 0.0, "client_pages": 0},
            )
        self.rules = rules
        self._shadow = self._fresh_shadow()

    def _fresh_shadow(self) -> OnlineRanker:
        learner = self.rules.model
        return OnlineRanker(learner, len(FEATURES), self._seed, page_size=PAGE_SIZE, weights=start_of(learner))

    @property
    def shadow_weights(self) -> NDArray[np.float64]:
        """What the shadow has learned: (features,)."""
        return self._shadow.weights

    async def belief(self, model: str = MODEL) -> Belief:
        """What a model believes now."""
        described = await self._client.model(model)
        return Belief(np.array(described["weights"]), described["version"])

    async def show(self, candidates: Candidates, who: str, model: str = MODEL) -> Shown:
        """The page that a model draws for somebody."""
        page = await self._client.rank(
            model, candidates.ids, candidates.features, query=candidates.query, client=who
        )  # fmt: skip
        return Shown(model, candidates, page.impression, page.ranking, page.version, page.reason)

    async def teach(self, shown: Shown, clicked: list[str]) -> bool:
        """Report what was clicked on a page, close it and wait for the lesson; False if it was closed before."""
        if shown.impression is None:
            raise ServiceError(f"this page cannot be learned from: {shown.reason}")
        if clicked:
            await self._client.click(shown.impression, clicked)
        closed = await self._client.close(shown.impression, wait=True)
        if closed is None:
            raise ServiceError("the service did not accept the clicks; they are kept, and sent when it responds again")
        if closed.closed and shown.model == RIVAL:
            self._teach_shadow(shown, clicked)
        return closed.closed

    def _teach_shadow(self, shown: Shown, clicked: list[str]) -> None:
        """The impression that the rival has just learned from, candidates, page and clicks, for the shadow."""
        row = {id: place for place, id in enumerate(shown.candidates.ids)}
        documents = np.array([row[id] for id in shown.ranking], np.int64)
        X = np.array(shown.candidates.features, np.float32)  # a copy: kernels take writable arrays only
        page = Page(documents, 0, X, np.zeros(len(X), np.float32), np.zeros((len(documents), 0), np.float32))
        try:
            self._shadow.learn(page, [float(id in clicked) for id in shown.ranking])
        except RankloopError as error:
            raise RankloopError(f"the shadow: {error}") from None
