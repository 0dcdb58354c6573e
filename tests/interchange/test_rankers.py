"""A ranker comes back from its file as it was; what is no ranker is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop as rl
from rankloop.errors import DataError, SettingsError
from rankloop.interchange import Ranker, load_ranker, read_ranker, run_lines, save_ranker
from rankloop.interchange.rankers import ranker_text

from .learned import DATA, RUN


def test_a_ranker_comes_back_to_the_bit(tmp_path):
    path = save_ranker(tmp_path / "ranker.json", RUN, feature_names=DATA.feature_names)
    ranker = load_ranker(path)
    assert np.array(ranker).tobytes() == RUN.weights.tobytes()
    assert ranker == Ranker.of(RUN, DATA.feature_names)
    assert ranker.settings["learner"]["learner"] == "ROLTR"
    assert rl.evaluate(ranker, DATA.test) == RUN.offline_ndcg


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_every_double_survives(tmp_path_factory, weights):
    path = tmp_path_factory.mktemp("r") / "ranker.json"
    back = load_ranker(save_ranker(path, weights, learner=rl.PDGD(), manifest={"by": "hand"}))
    assert np.array(back.weights).tobytes() == np.array(weights).tobytes()
    assert (back.settings["learner"]["learner"], back.manifest) == ("PDGD", {"by": "hand"})


GOOD = {
    "format": "rankloop-ranker", "version": 1, "kind": "linear", "features": 2, "feature_names": ["a", "b"],
    "weights": [1, 0.5], "learned": {"settings": {}, "manifest": {}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[1, 2]", "rankloop-ranker"),
        (json.dumps(GOOD | {"format": "other"}), "rankloop-ranker"),
        (json.dumps(GOOD | {"version": 2}), "version 2; this rankloop reads version 1"),
        (json.dumps(GOOD | {"kind": "forest"}), "forest"),
        (json.dumps(GOOD | {"features": 3}), "features says 3, and there are 2 weights"),
        (json.dumps(GOOD | {"feature_names": ["a"]}), "2 weights and 1 feature names"),
        (json.dumps(GOOD | {"feature_names": ["a", 1]}), "must be text; got 1"),
        (json.dumps(GOOD | {"weights": [1, float("nan")]}), "NaN"),
        (json.dumps(GOOD).replace("0.5", "1e999"), "weights[1] must be a finite number; got inf"),
        (json.dumps(GOOD | {"weights": [1, "0.5"]}), "weights[1] must be a finite number; got '0.5'"),
        (json.dumps(GOOD | {"weights": [1, True]}), "weights[1] must be a finite number; got True"),
        (json.dumps(GOOD | {"features": 0, "weights": [], "feature_names": []}), "at least one"),
        (json.dumps(GOOD | {"learned": []}), "learned"),
        ("[" * 100_000, "not JSON"),
        ("\udcff", "not JSON"),
    ],
)
def test_what_is_no_ranker_is_refused_with_file_and_reason(tmp_path, text, words):
    path = tmp_path / "ranker.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError) as refused:
        load_ranker(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_good_ranker_is_not_refused(tmp_path):
    (tmp_path / "ranker.json").write_text(json.dumps(GOOD))
    assert load_ranker(tmp_path / "ranker.json").weights == (1.0, 0.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda at: load_ranker(at / "none.json"), "none.json"),
        (lambda at: save_ranker(at / "no" / "r.json", [1.0]), "cannot write"),
        (lambda at: save_ranker(at, [1.0]), "folder"),
        (lambda at: save_ranker(at / "r.json", [1.0, np.nan]), "weights[1] must be a finite number; got nan"),
        (lambda at: save_ranker(at / "r.json", [1.0], feature_names=["a", "b"]), "2 for 1 weights"),
        (lambda at: save_ranker(at / "r.json", [1.0], manifest={"x": object()}), "JSON"),
    ],
)
def test_a_mistake_with_a_ranker_is_a_sentence_and_leaves_nothing_behind(tmp_path, call, words):
    with pytest.raises((DataError, SettingsError)) as refused:
        call(tmp_path)
    assert words in str(refused.value)
    assert list(tmp_path.iterdir()) == []


NETWORK = rl.MLP(hidden=(16,))


@pytest.fixture(scope="module")
def network_run():
    return rl.simulate(rl.PDGD(ranker=NETWORK), rl.users.noisy(), DATA, impressions=60, seed=1, evaluate_every=30)


def test_a_network_leaves_a_run_and_comes_back_to_the_bit(network_run, tmp_path):
    path = save_ranker(tmp_path / "network.json", network_run, feature_names=DATA.feature_names)
    ranker = load_ranker(path)
    assert ranker == Ranker.of(network_run, DATA.feature_names)
    assert ranker.kind == NETWORK
    assert ranker.weights == tuple(network_run.weights.tolist())
    assert rl.evaluate(ranker, DATA.test, ranker=ranker.kind) == network_run.offline_ndcg
    X = DATA.test.features[:5]
    assert ranker.scores(X).tolist() == NETWORK.scores(network_run.weights, X).tolist()
    assert read_ranker(network_run.save(tmp_path / "network.run")).kind == NETWORK
    again = save_ranker(tmp_path / "again.json", network_run.weights, learner=rl.PDGD(ranker=NETWORK))
    assert load_ranker(again).weights == ranker.weights


def test_a_networks_run_file_has_the_order_that_is_evaluated(network_run, tmp_path):
    lines = list(run_lines(save_ranker(tmp_path / "network.json", network_run), DATA.test))
    first = DATA.test.query_ids[0]
    rows = slice(DATA.test.offsets[0], DATA.test.offsets[1])
    best = np.argmax(NETWORK.scores(network_run.weights, DATA.test.features[rows]))
    assert lines[0].split()[2] == f"{first}-{best}"
    with pytest.raises(SettingsError, match=r"must be finite, as MLP.* has \(\d+\); got shape"):
        run_lines(Ranker(weights=(1.0,) * NETWORK.count(2), kind=NETWORK), DATA.test)


def test_weights_that_no_network_of_its_shape_has_are_refused(tmp_path):
    with pytest.raises(DataError, match="has 48 weights on one feature, 16 more on each further one; got 50"):
        Ranker(weights=(1.0,) * 50, kind=NETWORK)
    document = json.loads(ranker_text([1.0, 2.0]))
    (tmp_path / "ranker.json").write_text(json.dumps(document | {"kind": "forest"}))
    with pytest.raises(DataError, match="kind of ranker must be 'linear' or 'mlp'; got 'forest'"):
        load_ranker(tmp_path / "ranker.json")
