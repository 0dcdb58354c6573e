"""The service learns what the simulation learns: same seed, same traffic, same bits."""

import numpy as np
import pytest
from tests.patience import PATIENCE

import rankloop as rl
from rankloop.client import Client, RefusedError, ServiceError
from rankloop.data import Split
from rankloop.errors import SettingsError
from rankloop.live.traffic import ensure_model, play
from rankloop.loop import draw_query

from .serving import Serving

pytestmark = [pytest.mark.xdist_group("traffic"), pytest.mark.process]

LEARNERS = [
    rl.ROLTR(),
    rl.ROLTR(discount=0.9, learning_rate=0.1),
    rl.PDGD(),
    rl.DBGD(),
    rl.DBGD(interleaving="team-draft"),
    rl.PMGD(candidates=5),
    rl.COLTR(candidates=20),
    rl.FixedWeights(),
]
OTHER_REWARDS = [rl.ROLTR(reward=reward) for reward in rl.rewards.REWARDS if reward != rl.ROLTR().reward]
"""What a service does does not depend on the reward: with the others it is tried among the longest."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("traffic")) as running:
        yield running


@pytest.fixture
def client(service):
    with Client(service.url, timeout=PATIENCE) as made:
        yield made


@pytest.fixture(scope="module")
def data():
    return rl.load("tiny", scale=0.1)


def assert_same(there, here):
    """Bit by bit: weights at every point and at the end, every page's quality, every click, the offline curve."""
    for name in ("weights", "checkpoints", "online_curve", "clicks", "offline_curve"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name), err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner", [*LEARNERS, *(pytest.param(one, marks=pytest.mark.long) for one in OTHER_REWARDS)], ids=repr
)
def test_the_service_ends_with_the_bits_of_the_simulation(client, data, learner):
    name = f"same-{[*LEARNERS, *OTHER_REWARDS].index(learner)}"
    here = rl.simulate(learner, rl.users.noisy(), data, 40, seed=7, evaluate_every=20)
    assert ensure_model(client, name, data, learner, seed=7)[1]
    there = play(client, name, rl.users.noisy(), data, 40, seed=7, evaluate_every=20)
    assert (there.pages, there.undelivered) == ({"learned": 40}, 0)
    assert_same(there.run, here)
    if learner.learns_from == "clicks":
        assert (there.run.weights != there.run.checkpoints[0]).any()


def test_one_named_visitor_and_short_pages_are_the_simulation_too(client, data):
    here = rl.simulate(rl.Posterior(), rl.users.perfect(), data, 60, seed=3, evaluate_every=0, page_size=4)
    ensure_model(client, "short", data, seed=3, page_size=4)
    there = play(client, "short", rl.users.perfect(), data, 60, seed=3, evaluate_every=0, visitors=1)
    assert_same(there.run, here)
    assert there.run.offline_curve.shape == (0, 2)


def test_postgresql_keeps_the_same_bits(postgres_address, data, tmp_path):
    here = rl.simulate(rl.Posterior(), rl.users.noisy(), data, 40, seed=5, evaluate_every=20)
    with Serving(tmp_path, address=postgres_address) as running, Client(running.url, timeout=PATIENCE) as client:
        ensure_model(client, "shared", data, seed=5)
        there = play(client, "shared", rl.users.noisy(), data, 40, seed=5, evaluate_every=20)
    assert_same(there.run, here)


def test_a_batch_is_shown_by_one_state_and_then_learned_from_in_order(client, data):
    ranker = rl.OnlineRanker(rl.ROLTR(learning_rate=0.1), data.features, seed=2)
    user, train = rl.users.noisy(), data.train
    ensure_model(client, "batches", data, rl.ROLTR(learning_rate=0.1), seed=2)
    there = play(client, "batches", user, data, 35, seed=2, batch=10, evaluate_every=0)
    one_by_one = rl.simulate(rl.ROLTR(learning_rate=0.1), user, data, 35, seed=2, evaluate_every=0)
    for first in range(0, 35, 10):
        pages = []
        for i in range(first, min(first + 10, 35)):
            q = draw_query(np.uint64(2), i, train.queries)
            begin, end = train.offsets[q], train.offsets[q + 1]
            page = ranker.rank(train.features[begin:end])
            pages.append((page, user.clicks(train.grades[begin:end][page.documents].tolist(), 2, i)))
        for page, clicks in pages:
            ranker.learn(page, clicks)
    np.testing.assert_array_equal(there.run.weights, ranker.weights)
    assert (there.run.weights != one_by_one.weights).any()


def test_a_model_that_is_there_keeps_its_control_group_and_goes_on(client, data):
    client.create_model("there", list(data.feature_names), seed=4, guards={"control": 0.5}, scaling="query")
    found, new = ensure_model(client, "there", data, seed=9)
    assert (found["settings"]["seed"], new) == (4, False)
    first = play(client, "there", rl.users.noisy(), data, 30, seed=1, visitors=20, evaluate_every=0)
    assert set(first.pages) == {"learned", "control"}
    assert sum(first.pages.values()) == 30
    again = play(client, "there", rl.users.noisy(), data, 10, seed=2, visitors=20, evaluate_every=10)
    assert again.run.checkpoints[0].tolist() == first.run.weights.tolist()
    fates = client.model("there")["fates"]
    assert fates["control"] == first.pages["control"] + again.pages.get("control", 0)


def test_a_model_that_starts_in_the_incoming_order_takes_traffic(client, data):
    client.create_model("begun", list(data.feature_names), seed=4, start="incoming", scaling="query")
    found, new = ensure_model(client, "begun", data, seed=4)
    assert (len(found["features"]), new) == (data.features + 1, False)
    played = play(client, "begun", rl.users.noisy(), data, 10, seed=1, evaluate_every=10)
    test = data.test
    X = [test.features[begin:end] for begin, end in zip(test.offsets, test.offsets[1:], strict=False)]
    spans = [np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1) for x in X]
    logs = [-np.log(np.arange(1, len(x) + 1)) for x in X]
    scaled = [
        np.column_stack([(x - x.min(0)) / span, (log - log.min()) / (np.ptp(log) or 1)])
        for x, span, log in zip(X, spans, logs, strict=True)
    ]
    whole = Split(
        np.concatenate(scaled).astype(np.float32), test.arrays.offsets, test.arrays.grades, test.arrays.query_ids
    )
    assert played.run.offline_ndcg == pytest.approx(float(rl.evaluate(played.run.weights, whole)), abs=1e-6)


def test_a_new_model_can_have_a_control_group(client, data):
    described, new = ensure_model(client, "controlled", data, seed=4, control=0.5)
    assert (described["settings"]["guards"]["control"], new) == (0.5, True)
    assert set(play(client, "controlled", rl.users.noisy(), data, 20, seed=1, visitors=20, evaluate_every=0).pages) == {
        "learned", "control"
    }  # fmt: skip


def test_a_model_that_is_not_what_was_asked_for_is_refused(client, data):
    ensure_model(client, "taken", data, rl.PDGD(), seed=1)
    assert ensure_model(client, "taken", data, rl.PDGD(), seed=1, page_size=10)[1] is False
    with pytest.raises(SettingsError, match=r"with learner PDGD\(\) and not ROLTR\(\)"):
        ensure_model(client, "taken", data, rl.ROLTR(), seed=1)
    with pytest.raises(SettingsError, match="page_size 10 and not 3"):
        ensure_model(client, "taken", data, seed=1, page_size=3)
    with pytest.raises(SettingsError, match=r"with control 0\.0 and not 0\.3"):
        ensure_model(client, "taken", data, seed=1, control=0.3)
    client.create_model("narrow", 2)
    with pytest.raises(SettingsError, match="is sent 2 features and tiny has 20"):
        ensure_model(client, "narrow", data, seed=1)


def test_what_learns_from_grades_cannot_be_live(client, data):
    with pytest.raises(SettingsError, match="MDPRank needs more than clicks; choose one of ROLTR, PDGD"):
        ensure_model(client, "skyline", data, rl.MDPRank(), seed=1)
    with pytest.raises(RefusedError, match=r"must be one of 'ROLTR', .*; got 'MDPRank'"):
        client.create_model("skyline", data.features, learner=rl.MDPRank())
    assert "skyline" not in [model["name"] for model in client.models()]


def test_running_statistics_have_no_offline_curve(client, data):
    client.create_model("running", list(data.feature_names), scaling="running", guards={"control": 0})
    with pytest.raises(SettingsError, match="evaluate_every 0"):
        play(client, "running", rl.users.noisy(), data, 5, seed=1)
    assert play(client, "running", rl.users.noisy(), data, 5, seed=1, evaluate_every=0).pages == {"learned": 5}


def test_a_service_that_ends_in_the_middle_ends_the_traffic_with_a_sentence(tmp_path, data):
    with Serving(tmp_path) as running, Client(running.url, timeout=PATIENCE) as client:
        ensure_model(client, "short-lived", data, seed=1)
        kill_at = {10: running.kill}
        with pytest.raises(ServiceError, match="impression 10 got no answer; the service cannot be reached"):
            play(
                client, "short-lived", rl.users.noisy(), data, 50, seed=1, batch=50, evaluate_every=0,
                progress=lambda done, *_: kill_at.get(done, lambda: None)(),
            )  # fmt: skip
