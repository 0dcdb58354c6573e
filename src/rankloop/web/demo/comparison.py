"""The model whose pages people see and, if one is asked for, a rival that the same visitors teach.

Both live in the service, start from the engine's order and are spoken to over its public API alone. Each draws its own
pages: the rival's are for the visitors, who are sent to both, and nobody else sees them.
"""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.client import AsyncClient, ServiceError
from rankloop.learners import ROLTR, Learner, Posterior
from rankloop.settings import require_choice
from rankloop.web.demo.engine import Candidates, engine_order
from rankloop.web.demo.features import FEATURES

MODEL, RIVAL = "rankloop-demo", "rankloop-demo-rival"
PAGE_SIZE = 10
POSTERIOR = Posterior(
    prior_variance=0.3,
    prior_weight=30,
    level_shape=0.0,
    exploration=0.0,
    early_exploration=0.0,
    half_life=300,
    memory=0,
    common_weight=0.0,
    common_variance=0.0,
)
"""Somebody who tries a demo wants to see their click count. So features are believed to matter ten times as much as
usual, and that guess is kept for some time; the engine's word keeps its usual fifty pages. (Where it had three, it was
the one thing that a click could change, and two clicks turned it round.) What moves on the page must have moved because
of a click: it shows its best order, tries nothing out, and a page without clicks teaches nothing. And tastes change, at
the push of a button: after 300 pages, half of what they taught is forgotten. It remembers no single documents: the page
explains every order by its features. Nor may what features have in common weigh more than others: its features are few,
and one click would move them all."""
FIRST = {"engine_rank": 2.0, "engine_score": 4.0}
"""A posterior's weights before the first click: the engine's order with about the spread of ½ that it believes in. The
rank alone would say nothing of the 11th and the 50th, and a click could bring up what hardly matches."""
LOOKS = 60
"""Pages without clicks that it sees beforehand. They teach it how much features vary: one page says too little, and a
feature that hardly varies there would be trusted blindly on the next."""
_OPEN_SECONDS = 86_400.0  # a page that nobody clicks waits a day: only clicks teach while somebody tries the demo


class Rival(NamedTuple):
    """Another method, and what a page says about it. Nobody is a rival, too: one without a learner."""

    name: str
    label: str
    sentence: str
    learner: Learner | None


RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        Rival("nobody", "nobody", "", None),
        Rival(
            "naive",
            "one that takes clicks at face value",
            "The rival is ROLTR, a policy gradient. It takes clicks at face value, as if people looked at whole pages, "
            "while they look at the top first.",
            ROLTR(reward="naive+-", learning_rate=0.01),
        ),
        Rival(
            "careful",
            "one that takes small steps",
            "The rival is ROLTR, a policy gradient: it allows for how far people look, and takes small steps.",
            ROLTR(reward="ips+-", learning_rate=0.01),
        ),
        Rival(
            "bold",
            "one that takes large steps",
            "The rival is ROLTR, a policy gradient: it allows for how far people look, and takes steps ten times as "
            "large. That is faster and less steady, and somebody has to know it.",
            ROLTR(reward="ips+-", learning_rate=0.1),
        ),
    )
}
"""Those to choose from, by name."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a demo starts over with."""

    rival: str = "nobody"

    def __post_init__(self) -> None:
        require_choice("demo", "rival", self.rival, RIVALS)

    @property
    def learners(self) -> dict[str, Learner]:
        """Who learns, by the name of the model in the service."""
        rival = RIVALS[self.rival].learner
        return {MODEL: POSTERIOR} if rival is None else {MODEL: POSTERIOR, RIVAL: rival}


def start_of(learner: Learner) -> NDArray[np.float64]:
    """(features,) weights with which a method starts from the engine's order: a prior's are as large as it would make
    them itself, so that its first lesson does not seem to be about that."""
    if learner.start_strength is None:
        return engine_order()
    return np.array([FIRST.get(name, 0.0) for name in FEATURES])


class Belief(NamedTuple):
    """A model as the service describes it: weights (features,), and how many lessons they come from."""

    weights: NDArray[np.float64]
    version: int


class DrawnPage(NamedTuple):
    """A page that a model drew for these candidates. Without an impression it is a fallback, and teaches nothing."""

    model: str
    candidates: Candidates
    impression: str | None
    ranking: list[str]
    version: int
    reason: str | None


class Comparison:
    """The model, and the rival if there is one.

    Args:
        client: a connection to the service that the demo runs beside.
        seed: every page is a function of it, the weights and the impression's number.
    """

    def __init__(self, client: AsyncClient, seed: int) -> None:
        self._client = client
        self._seed = seed
        self.rules = Rules()

    async def begin(self, rules: Rules) -> None:
        """Make the models anew, as the rules say; what an earlier demo left in this log is forgotten."""
        existing = {model["name"] for model in await self._client.models()}
        for name in (MODEL, RIVAL):
            if name in existing:
                await self._client.delete_model(name)
        for name, learner in rules.learners.items():
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
                guards={"control": 0.0, "client_pages": 0, "one_sided": 0.0},
            )
        self.rules = rules

    async def belief(self, model: str = MODEL) -> Belief:
        """What a model believes now."""
        described = await self._client.model(model)
        return Belief(np.array(described["weights"]), described["version"])

    async def show(self, candidates: Candidates, who: str, model: str = MODEL) -> DrawnPage:
        """The page that a model draws for somebody."""
        page = await self._client.rank(
            model, candidates.ids, candidates.features, query=candidates.query, client=who
        )  # fmt: skip
        return DrawnPage(model, candidates, page.impression, page.ranking, page.version, page.reason)

    async def teach(self, shown: DrawnPage, clicked: list[str]) -> bool:
        """Report what was clicked on a page, close it and wait for the lesson; False if it was closed before."""
        if shown.impression is None:
            raise ServiceError(f"this page cannot be learned from: {shown.reason}")
        if clicked:
            await self._client.click(shown.impression, clicked)
        closed = await self._client.close(shown.impression, wait=True)
        if closed is None:
            raise ServiceError("the service did not accept the clicks; they are kept, and sent when it responds again")
        return closed.closed
