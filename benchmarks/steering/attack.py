"""The simulated shop with a vendor in it, and visitors who click on whatever that vendor sells, and on nothing else."""

from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.shop.visits import VISITORS
from benchmarks.shop.world import FEATURES, PAGE, Shop, click_probabilities
from rankloop.live.events import Closing, Event, Kind, decode, encode
from rankloop.live.fold import Fold
from rankloop.live.incoming import with_incoming
from rankloop.live.ranking import Ranking, Request
from rankloop.live.redrawing import Redrawing
from rankloop.live.settings import ModelSettings, NewModelSettings
from rankloop.live.start import settled
from rankloop.live.suspicion import suspects_among

VENDORS = 10
"""Each sells as many products; one of them attacks."""
PAGES_OF_A_BOT = 10
"""Few enough for any one of them to pass for a person."""
FIRST_BOT = 1_000_000
"""Numbers from here on are the attackers': of clients, and of pages."""


class Attack(NamedTuple):
    """Who clicks for the vendor: one client, or a botnet that makes up a share of all visits. `chance`: nobody, but the
    model draws other pages than when it is left alone."""

    kind: str
    share: float


class Place(NamedTuple):
    """Where the vendor's products stand in the model's best order of searches that nobody made."""

    mean_rank: float
    first: float
    """The share of searches that begin with one of them."""
    ndcg: float
    searched: float
    """Their mean rank in searches that were made: there a model knows more of documents than their features."""


class Vendor:
    """The shop's features and a flag: whether a product is the attacking vendor's."""

    def __init__(self, seed: int) -> None:
        self.shop = Shop(19 + seed)
        self.sells = [search.products % VENDORS == 0 for search in self.shop.searches]
        columns = zip(self.shop.searches, self.sells, strict=True)
        self.features = [np.column_stack([search.X, own]).astype(np.float32) for search, own in columns]

    def place(self, fold: Fold) -> Place:
        """Where the vendor stands now."""
        view, first, ndcg = fold.view(), [], []
        ranks: dict[bool, list[int]] = {True: [], False: []}
        for query in (*self.shop.held_out, *range(len(self.shop.training))):
            own, made = self.sells[query], query < len(self.shop.training)
            X = view.scaler.apply(with_incoming(self.features[query], fold.settings.names))
            order = np.argsort(-view.scores(X, view.numbers(f"q{query}", self.ids(query))), kind="stable")
            ranks[made].extend(np.flatnonzero(own[order]) + 1)
            if not made:
                first.append(own[order[0]])
                ndcg.append(self.shop.ndcg(order, query))
        return Place(*(float(np.mean(each)) for each in (ranks[False], first, ndcg, ranks[True])))

    def ids(self, query: int) -> list[str]:
        """Of a search's candidates."""
        return [str(product) for product in self.shop.searches[query].products]


def settings_of(body: dict[str, Any], seed: int) -> ModelSettings:
    """A model for the shop with the vendor's flag among its features; nobody is in control, so that all is steered."""
    features = [*FEATURES, "vendor"]
    guards = {"control": 0.0} | body.get("guards", {})
    return settled(msgspec.convert(body | {"features": features, "seed": seed, "guards": guards}, NewModelSettings))


class Visits:
    """A model among people and attackers, page by page."""

    def __init__(self, vendor: Vendor, settings: ModelSettings) -> None:
        self.vendor, self.fold, self.ranking = vendor, Fold(settings), Ranking(settings)
        self.events: list[tuple[Event, Event]] = []

    def visit(self, query: int, client: int, number: int, luck: NDArray[np.float64] | None) -> None:
        """One page, closed; without luck of their own, the visitor clicks for the vendor."""
        search, name = self.vendor.shop.searches[query], name_of(client)
        ids = self.vendor.ids(query)
        X = with_incoming(self.vendor.features[query], self.fold.settings.names)
        request = Request(f"q{query}", name, ids, X, PAGE, {})
        shown = self.ranking.rank(self.fold.view(), request, number).impression
        page = np.array(shown.page)
        wanted = self.vendor.sells[query][page]
        if luck is not None:
            wanted = luck[: len(page)] < click_probabilities(search.grades[page])
        offset = 2 * len(self.events) + 1
        event = Event(offset, 1, Kind.SHOWN, number, 0, name, encode(shown))
        body = encode(Closing(offset, wanted.astype(float).tolist(), "asked"))
        self.events.append((event, Event(offset + 1, 1, Kind.CLOSED, number, 0, b"", body)))
        self.fold.apply(self.events[-1][1], event)


def steered(vendor: Vendor, settings: ModelSettings, visits: int, seed: int, attack: Attack | None) -> Visits:
    """So many visits of people, who come whatever others do, and between them the attackers'."""
    people, attackers = np.random.default_rng(seed), np.random.default_rng(10_000 + seed)
    made, bots = Visits(vendor, settings), 0
    for number in range(visits):
        while attack is not None and attackers.random() < attack.share:
            query = int(attackers.integers(len(vendor.shop.training)))
            bot = bots // PAGES_OF_A_BOT if attack.kind == "botnet" else 0
            made.visit(query, FIRST_BOT + bot, FIRST_BOT + bots, None)
            bots += 1
        query, client = int(people.integers(len(vendor.shop.training))), int(people.integers(VISITORS))
        made.visit(query, client, number, people.random(PAGE))
    return made


class Undone(NamedTuple):
    """What a person would do who looks at the suspects, and erases them all."""

    bots: int
    found: int
    wronged: int
    """People who are suspected, too."""
    place: Place


def undone(made: Visits) -> Undone:
    """Erase the suspects' pages, and fold what is left, as `log suspects`, `log erase` and `log refold` do."""
    settings = made.fold.settings
    pages = [(shown, decode(closing.kind, closing.body)) for shown, closing in made.events]
    suspects = {bytes.fromhex(one.removeprefix("hash:")) for one in suspects_among(pages, settings).everybody}
    clients = {shown.client: shown.number >= FIRST_BOT for shown, _ in made.events}
    again = Fold(settings)
    erased = [shown.offset for shown, _ in made.events if shown.client in suspects]
    again.redrawing = Redrawing(erased[0]) if erased else None
    for shown, closing in made.events:
        if shown.client not in suspects:
            again.apply(closing, shown)
    found = sum(clients[client] for client in suspects)
    return Undone(sum(clients.values()), found, len(suspects) - found, made.vendor.place(again))


def name_of(client: int) -> bytes:
    """As the service would hash it: all bits depend on who it is."""
    return np.random.default_rng(client).bytes(16)
