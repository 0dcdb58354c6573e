"""Three learners that start from the engine's order, so that their rewards can be compared.

The *model* ranks what people see. The *shadow* draws no pages: it is fed the very same impressions as the model, with
another reward. The *rival* has the shadow's settings and pages of its own. Model and rival live in the service and are
spoken to over its public API alone; the shadow is a ranker of the core that reads over the model's shoulder.
"""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.client import AsyncClient, ServiceError
from rankloop.errors import RankloopError
from rankloop.learners import ROLTR
from rankloop.online import OnlineRanker, Page
from rankloop.rewards import REWARDS
from rankloop.settings import require_choice, require_number
from rankloop.web.demo.engine import Candidates, engine_order
from rankloop.web.demo.features import FEATURES

MODEL, RIVAL = "rankloop-demo", "rankloop-demo-rival"
PAGE_SIZE = 10
STEPS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""The learning rates that the page offers."""
_OPEN_SECONDS = 86_400.0  # a page that nobody clicks waits a day: only clicks teach while somebody tries the demo


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What the learners go by: the model's reward and step, and those of the shadow and the rival."""

    reward: str = "ips+-"
    step: float = 0.01
    rival_reward: str = "naive+-"
    rival_step: float = 0.01

    def __post_init__(self) -> None:
        for name in ("reward", "rival_reward"):
            require_choice("demo", name, getattr(self, name), REWARDS)
        for name in ("step", "rival_step"):
            require_number("demo", name, getattr(self, name), above=0, at_most=1)

    @property
    def model(self) -> ROLTR:
        """The learner behind the pages that people see."""
        return ROLTR(reward=self.reward, learning_rate=self.step)

    @property
    def rival(self) -> ROLTR:
        """The learner of shadow and rival."""
        return ROLTR(reward=self.rival_reward, learning_rate=self.rival_step)


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
                start={"from": "weights", "weights": engine_order().tolist(), "keeps_first": None},
                scaling="none",
                page_size=PAGE_SIZE,
                seed=self._seed,
                window=_OPEN_SECONDS,
                guards={"control": 0.0},
            )
        self.rules = rules
        self._shadow = self._fresh_shadow()

    def _fresh_shadow(self) -> OnlineRanker:
        return OnlineRanker(
            self.rules.rival, len(FEATURES), self._seed, page_size=PAGE_SIZE, weights=engine_order()
        )  # fmt: skip

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
        if closed.closed and shown.model == MODEL:
            self._teach_shadow(shown, clicked)
        return closed.closed

    def _teach_shadow(self, shown: Shown, clicked: list[str]) -> None:
        """The impression that the model has just learned from, candidates, page and clicks, for the shadow."""
        row = {id: place for place, id in enumerate(shown.candidates.ids)}
        documents = np.array([row[id] for id in shown.ranking], np.int64)
        X = np.array(shown.candidates.features, np.float32)  # a copy: kernels take writable arrays only
        page = Page(documents, 0, X, np.zeros(len(X), np.float32), np.zeros((len(documents), 0), np.float32))
        try:
            self._shadow.learn(page, [float(id in clicked) for id in shown.ranking])
        except RankloopError as error:
            raise RankloopError(f"the shadow: {error}") from None
