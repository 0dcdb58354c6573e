"""A ranker comes back from its file as it was; what is no ranker is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop as rl
from rankloop.errors import DataError, SettingsError
from rankloop.interchange import Ranker, load_ranker, save_ranker

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
