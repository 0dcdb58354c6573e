"""The OpenAPI document is taken at its word: requests made from it, good and bad, never give a 500, and every answer is
one that it describes."""

import itertools

import msgspec
import numpy as np
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule, run_state_machine_as_test
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rankloop.live.http.app import ENDPOINTS
from rankloop.live.http.openapi import document
from rankloop.live.requests import Limits

from .conftest import ROWS
from .running import MSGPACK, everything

pytestmark = [pytest.mark.xdist_group("live-http-fuzz"), pytest.mark.slow]

FEW, MANY = 8, pytest.param(30, marks=pytest.mark.long)
"""Requests for each address, and as many again that break the document's rules."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
DOCUMENT = document(ENDPOINTS, Limits())
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)


def takes_something(method, path):
    """Whether there is anything that a request could get wrong."""
    told = DOCUMENT["paths"][path][method.lower()]
    return bool(told["parameters"] or "requestBody" in told)


GOOD, BAD = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
OPERATIONS = [(route.method, route.path, GOOD) for route in ENDPOINTS]
OPERATIONS += [(method, path, BAD) for method, path, _ in OPERATIONS if takes_something(method, path)]
bounded = settings(database=None, derandomize=False, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@schemathesis.serializer(MSGPACK)
def packed(_, value):
    try:
        return msgspec.msgpack.encode(value)
    except OverflowError:
        # MessagePack has no such number.
        reject()


def send(app, case):
    """A generated request, to an address that exists as often as not; its answer."""
    prepared = requests.Request(**case.as_transport_kwargs(base_url="http://127.0.0.1")).prepare()
    body = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body
    return app.ask(prepared.method, prepared.url, content=body, headers=dict(prepared.headers))


def lead_somewhere(app, case):
    """Let a request be about a model that there is, and a version that it may have."""
    for parts in (case.path_parameters, case.query):
        if parts and "model" in parts:
            parts["model"] = "fuzzed"
        for name in ("version", "from", "to"):
            if parts and isinstance(parts.get(name), int):
                parts[name] %= 2
    if app.get("/v1/models/fuzzed").status_code == 404:
        app.model("fuzzed", 2, scaling="none")


@pytest.mark.parametrize("examples", [FEW, MANY])
@pytest.mark.parametrize(("method", "path", "mode"), OPERATIONS)
def test_whatever_the_document_allows_or_forbids_is_answered_as_it_says(app, method, path, mode, examples):
    operation = SCHEMA[path][method]

    @seed(1)
    @settings(bounded, max_examples=examples)
    @given(case=operation.as_strategy(mode), known=st.booleans())
    def check(case, known):
        if known and mode is GOOD:
            lead_somewhere(app, case)
        case.validate_response(send(app, case), checks=CHECKS)

    check()


# Near misses: what is almost right, or was right a moment ago

LEARNERS = ("ROLTR", "PDGD", "DBGD", "PMGD", "COLTR", "FixedWeights")
numbers = st.sampled_from([0.0, 1e-300, 1e-30, 1e-9, 0.01, 0.5, 1.0, 2.0, 1e3, 1e9, 1e18, 1e30, 1e300, -1.0])


@st.composite
def learners(draw):
    """A learner with some of its numbers anywhere."""
    name = draw(st.sampled_from(LEARNERS))
    fields = {
        "ROLTR": ("learning_rate", "discount", "temperature", "decay", "floor", "clip"),
        "PDGD": ("learning_rate", "temperature"),
        "DBGD": ("learning_rate", "delta"),
        "PMGD": ("learning_rate", "delta"),
        "COLTR": ("learning_rate", "delta"),
        "FixedWeights": (),
    }[name]
    return {"learner": name} | draw(
        st.dictionaries(st.sampled_from(fields), numbers, max_size=3) if fields else st.just({})
    )


@st.composite
def models(draw):
    """Settings that may or may not make sense together."""
    made = {
        "learner": draw(learners()),
        "scaling": draw(st.sampled_from(["none", "query", "running"])),
        "precision": draw(st.sampled_from(["float32", "float16"])),
        "guards": draw(
            st.dictionaries(st.sampled_from(["update_cap", "control", "client_share"]), numbers, max_size=2)
        ),
    }
    if draw(st.booleans()):
        made["start"] = {"from": "weights", "weights": [draw(numbers), draw(numbers)]}
    return made


@seed(3)
@settings(bounded, max_examples=30)
@given(model=models(), rows=st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=1, max_size=4))
def test_a_model_of_any_settings_is_refused_or_works_and_stays_finite(app, model, rows):
    made = app.post("/v1/models", json={"name": "odd", "features": 2, "seed": 1} | model)
    assert made.status_code in (201, 422), made.text
    if made.status_code == 422:
        return
    try:
        for _ in range(2):
            body = {"candidates": [{"id": str(i), "features": row} for i, row in enumerate(rows)]}
            page = app.post("/v1/models/odd/rank", json=body)
            assert page.status_code in (200, 422), page.text
            if page.status_code == 200:
                told = page.json()
                assert sorted(told["ranking"]) == [str(i) for i in range(len(rows))]
                app.post("/v1/clicks", json={"impression": told["impression"], "clicks": told["ranking"][-1:]})
                closed = app.post(f"/v1/impressions/{told['impression']}/close", json={"wait": True})
                assert closed.status_code == 200, closed.text
            assert np.isfinite(app.get("/v1/models/odd").json()["weights"]).all()
    finally:
        assert app.ask("DELETE", "/v1/models/odd").status_code == 200


@st.composite
def mutations(draw):
    """What can happen to an id on its way: characters changed, cut, added, exchanged."""
    kind = draw(st.sampled_from(["change", "cut", "add", "swap", "case"]))
    at, letter = draw(st.integers(0, 53)), draw(st.sampled_from(ALPHABET))
    match kind:
        case "change":
            return lambda text: text[:at] + letter + text[at + 1 :]
        case "cut":
            return lambda text: text[:at]
        case "add":
            return lambda text: text[:at] + letter + text[at:]
        case "swap":
            return lambda text: text[:at] + text[at : at + 2][::-1] + text[at + 2 :]
    return lambda text: text.swapcase()


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@seed(4)
@settings(bounded, max_examples=150)
@given(data=st.data())
def test_no_change_to_a_real_id_is_ever_taken_for_one(app, data):
    impressions = PAGES.setdefault(id(app), [app.rank("shop", ROWS)["impression"] for _ in range(3)])
    true = data.draw(st.sampled_from(impressions))
    forged = data.draw(mutations())(true)
    if data.draw(st.booleans()):
        # The head of one page with the signature of another.
        forged = forged[:32] + data.draw(st.sampled_from(impressions))[32:]
    if forged in impressions or not forged:
        reject()
    before = everything(app)
    reported = app.post("/v1/clicks", json={"impression": forged, "clicks": ["a"]})
    closed = app.post(f"/v1/impressions/{forged}/close", json={"wait": True})
    assert {reported.status_code, closed.status_code} <= {400, 410}, (reported.text, closed.text)
    assert everything(app) == before


PAGES = {}


class Conversation(RuleBasedStateMachine):
    """A search page and its operator, in any order: what is refused changes nothing, what is taken is learned once."""

    app = None
    impressions = Bundle("impressions")

    def __init__(self):
        super().__init__()
        self.name = f"talk-{next(CONVERSATIONS)}"
        self.app.model(self.name, 2, scaling="none", page_size=3)
        self.closed = set()

    def state(self):
        model = self.app.service.registry.get(self.name)
        return self.app.service.store.last_offset(), model.version, model.view().model.ranker.weights.tobytes()

    def ask(self, method, path, **more):
        before = self.state()
        answer = self.app.ask(method, path, **more)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) == {"code", "message"}
            assert self.state() == before
        return answer

    @rule(target=impressions, size=st.integers(0, 4), pinned=st.dictionaries(st.sampled_from("abz"), st.integers(0, 4)))
    def rank(self, size, pinned):
        rows = [{"id": name, "features": row} for name, row in ROWS.items()]
        body = {"candidates": rows, "size": size, "pinned": pinned}
        answer = self.ask("POST", f"/v1/models/{self.name}/rank", json=body)
        if answer.status_code != 200:
            return multiple()
        page = answer.json()
        assert len(page["ranking"]) == size
        assert all(page["ranking"][rank - 1] == name for name, rank in pinned.items())
        return page["impression"]

    @rule(
        impression=impressions,
        clicks=st.dictionaries(st.sampled_from("abcdz"), st.sampled_from([-1.0, 0.0, 0.5, 1, 2])),
    )
    def click(self, impression, clicks):
        answer = self.ask("POST", "/v1/clicks", json={"impression": impression, "clicks": clicks})
        assert (answer.status_code == 200) == all(0 <= value <= 1 for value in clicks.values())
        if answer.status_code == 200 and impression in self.closed:
            assert answer.json()["accepted"] == 0

    @rule(impression=impressions)
    def close(self, impression):
        told = self.ask("POST", f"/v1/impressions/{impression}/close", json={"wait": True}).json()
        assert told["closed"] == (impression not in self.closed)
        self.closed.add(impression)

    @rule(action=st.sampled_from(["pause", "resume", "freeze", "freeze-scaling"]))
    def act(self, action):
        self.ask("POST", f"/v1/models/{self.name}/{action}")

    @rule(version=st.integers(0, 3))
    def roll_back(self, version):
        self.ask("POST", f"/v1/models/{self.name}/roll-back", json={"version": version})

    @rule(what=st.sampled_from(["", "/snapshots", "/compare?from=0&to=1", "/export", "/export?format=solr"]))
    def look(self, what):
        self.ask("GET", f"/v1/models/{self.name}{what}")

    def teardown(self):
        assert self.app.ask("DELETE", f"/v1/models/{self.name}").status_code == 200


CONVERSATIONS = itertools.count()


def test_any_conversation_ends_well(app):
    Conversation.app = app
    run_state_machine_as_test(Conversation, settings=settings(bounded, max_examples=25, stateful_step_count=25))
