"""People who search and click, from several threads, and write down every answer they get.

What the service has acknowledged is what it must never lose, so the list of acknowledgements is kept here, outside it.
A visitor whose request was not answered does what a search page would do: some try again, some give up.
"""

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
from tests.patience import PATIENCE, wait_until

MODEL = "shop"
CANDIDATES = 8
FEATURES = 5
SETTINGS = {
    "name": MODEL, "features": FEATURES, "page_size": 4, "seed": 7, "scaling": "none", "guards": {"control": 0},
    "start": {"from": "zeros"},  # nothing is added to what was sent
}  # fmt: skip
RETRY = 0.02
TRIES = 10


@dataclass
class Visit:
    """One page and what was done on it, with what of it was acknowledged."""

    impression: str
    query: str
    ids: list[str]
    features: bytes
    ranking: list[str]
    tried: set[str] = field(default_factory=set)
    """Documents that a report named, whether it was answered or not."""
    reports: list[list[str]] = field(default_factory=list)
    """The documents of each acknowledged report."""
    before_closing: set[str] = field(default_factory=set)
    """Documents whose clicks were acknowledged before anybody asked to close the page."""
    asked_to_close: bool = False
    closed: bool = False
    """Whether somebody was told that it is closed."""


class UnansweredError(Exception):
    """No answer came: the service is gone, or will not say."""


class Caller:
    """One person's connections to the services; requests go to any of them."""

    def __init__(self, urls: list[str], rng: random.Random) -> None:
        self._places = [urlsplit(url).netloc for url in urls]
        self._rng = rng
        self._open: dict[str, http.client.HTTPConnection] = {}
        self.asked = 0.0
        """When the newest request was sent."""

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """(status, answer); `UnansweredError` if the connection fails at any point."""
        place = self._rng.choice(self._places)
        connection = self._open.setdefault(place, http.client.HTTPConnection(place, timeout=PATIENCE))
        self.asked = time.monotonic()
        try:
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
            connection.close()
            raise UnansweredError(str(error)) from None


def make_model(url: str) -> None:
    """The model that visitors use."""
    status, answer = Caller([url], random.Random(0)).post("/v1/models", SETTINGS)
    assert status == 201, answer


def one_page(url: str) -> dict[str, Any]:
    """A page for somebody who is not one of the visitors."""
    candidates = [{"id": f"d{place}", "features": [float(place)] * FEATURES} for place in range(CANDIDATES)]
    status, page = Caller([url], random.Random(0)).post(f"/v1/models/{MODEL}/rank", {"candidates": candidates})
    assert status == 200, page
    return page


def last_visit(url: str) -> list[float]:
    """One more page, closed and learned from; the model's weights after it. The service may be busy at first."""
    page = wait_until(lambda: (page := one_page(url))["group"] == "learned" and page, "a page that can be learned from")
    path = f"/v1/impressions/{page['impression']}/close"
    status, closed = Caller([url], random.Random(0)).post(path, {"wait": True})
    assert (status, closed["closed"]) == (200, True), closed
    with urlopen(f"{url}/v1/models/{MODEL}", timeout=PATIENCE) as answer:
        return json.loads(answer.read())["weights"]


class Traffic:
    """Visitors that keep coming until they are told to stop.

    with Traffic([service.url], seed=1) as traffic:
        traffic.wait_for(acknowledged=100)
    """

    def __init__(self, urls: list[str], *, seed: int, visitors: int = 4, model: str = MODEL) -> None:
        self._urls = urls
        self._model = model
        self.visits: list[Visit] = []
        self.fallbacks: list[str] = []
        """Why pages came in the incoming order."""
        self.refusals: list[tuple[int, dict[str, Any]]] = []
        """Answers to clicks and closings that were not 200."""
        self.acknowledged = 0
        self.unanswered = 0
        self.newest_asked = 0.0
        """When the newest request was sent that has been acknowledged."""
        self._faults: list[str] = []
        self._stopped = False
        self._news = threading.Condition()
        self._threads = [
            threading.Thread(target=self._run, args=[random.Random(1000 * seed + visitor)], daemon=True)
            for visitor in range(visitors)
        ]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let everybody finish what they do."""
        self._stopped = True
        for thread in self._threads:
            thread.join(2 * PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads), "a visitor never came back"
        assert not self._faults, self._faults[0]

    def wait_for(self, *, acknowledged: int = 0, fallbacks: int = 0, refusals: int = 0) -> None:
        """Until so many more have been seen."""
        counts = lambda: (self.acknowledged, len(self.fallbacks), len(self.refusals))  # noqa: E731
        with self._news:
            wanted = [now + more for now, more in zip(counts(), (acknowledged, fallbacks, refusals), strict=True)]
            arrived = self._news.wait_for(
                lambda: self._faults or all(now >= goal for now, goal in zip(counts(), wanted, strict=True)), PATIENCE
            )
            assert arrived, f"within {PATIENCE:g} s only {counts()} of {wanted} acknowledged, fallbacks, refusals"
        assert not self._faults, self._faults[0]

    def wait_for_reason(self, *reasons: str) -> None:
        """Until the newest page in the incoming order says one of these; a busy machine may have others."""
        said = lambda: self.fallbacks[-1] if self.fallbacks else ""  # noqa: E731
        wait_until(lambda: self._faults or any(reason in said() for reason in reasons), lambda: f"{reasons}: {said()}")
        assert not self._faults, self._faults[0]

    def _note(self, acknowledged: Caller | None = None) -> None:
        with self._news:
            if acknowledged:
                self.acknowledged += 1
                self.newest_asked = max(self.newest_asked, acknowledged.asked)
            self._news.notify_all()

    def _run(self, rng: random.Random) -> None:
        caller = Caller(self._urls, rng)
        try:
            while not self._stopped:
                visit = self._search(caller, rng)
                if visit is not None:
                    self._click(caller, rng, visit)
        except Exception as error:
            self._faults.append(repr(error))
            self._note()

    def _search(self, caller: Caller, rng: random.Random) -> Visit | None:
        query = f"query {rng.randrange(10**9)}"
        ids = [f"d{document}" for document in rng.sample(range(1000), CANDIDATES)]
        matrix = np.array([[rng.random() for _ in range(FEATURES)] for _ in ids], "<f4")
        candidates = [{"id": name, "features": row.tolist()} for name, row in zip(ids, matrix, strict=True)]
        try:
            status, answer = caller.post(f"/v1/models/{self._model}/rank", {"query": query, "candidates": candidates})
        except UnansweredError:
            self._wait_a_little()
            return None
        assert status == 200, f"a page was refused with {status}: {answer}"
        if answer["group"] == "fallback":
            assert answer["ranking"] == ids[: SETTINGS["page_size"]], "a fallback page is in the incoming order"
            assert answer["impression"] is None
            self.fallbacks.append(answer["reason"])
            self._note()
            self._wait_a_little()
            return None
        visit = Visit(answer["impression"], query, ids, matrix.tobytes(), answer["ranking"])
        self.visits.append(visit)
        self._note(caller)
        return visit

    def _click(self, caller: Caller, rng: random.Random, visit: Visit) -> None:
        """Up to two reports, then perhaps a closing; as a search page would send them."""
        for _ in range(rng.randrange(3)):
            documents = rng.sample(visit.ranking, rng.randrange(1, 3))
            last = rng.random() < 0.2
            visit.tried.update(documents)
            asked_before, visit.asked_to_close = visit.asked_to_close, visit.asked_to_close or last
            body = {"impression": visit.impression, "clicks": documents, "close": last}
            answer = self._insist(caller, rng, "/v1/clicks", body)
            if answer is None:
                continue
            assert answer["unknown"] == []
            visit.reports.append(documents)
            if not asked_before:
                visit.before_closing.update(documents)
            visit.closed |= answer["closed"]
            self._note(caller)
        if rng.random() < 0.7:
            visit.asked_to_close = True
            path = f"/v1/impressions/{visit.impression}/close"
            answer = self._insist(caller, rng, path, {"wait": rng.random() < 0.2})
            if answer is not None:
                # "Not closed now" is the answer, too, where an earlier, unanswered request had closed it.
                visit.closed = True
                self._note(caller)

    def _insist(self, caller: Caller, rng: random.Random, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The answer, if one comes; half of the visitors try again: until there is one, or they were refused a lot."""
        tries = TRIES if rng.random() < 0.5 else 1
        while True:
            try:
                status, answer = caller.post(path, body)
            except UnansweredError:
                pass
            else:
                if status == 200:
                    return answer
                assert status == 503, f"{path} was refused with {status}: {answer}"
                self.refusals.append((status, answer))
                tries -= 1
                self._note()
            if tries <= 1 or self._stopped:
                return None
            self._wait_a_little()

    def _wait_a_little(self) -> None:
        """As a client does that was not answered; there is no event to wait for, as nobody is there to tell."""
        self.unanswered += 1
        time.sleep(RETRY)
