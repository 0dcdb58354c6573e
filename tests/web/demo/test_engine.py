"""Any text is a query; what comes back is in the engine's order, with features in [0, 1]."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.policies import plackett_luce
from rankloop.web.demo.engine import Engine, engine_order
from rankloop.web.demo.features import FEATURES

NAMES = list(FEATURES)


HOSTILE = [
    "", " ", "\0", "\ud800", "😀", "*", '"', '""""', "'; DROP TABLE documents; --", "' OR 1=1", '" OR "a"*',
    "name:open", "NEAR(open file, 5)", "open AND NOT file", "open -file", "^open", "{name module}: open", "a + b",
    "open)", "((((", "%s %d {0} {{}}", "\\", "../../etc/passwd", "x" * 10_000, "open " * 2_000,
    "é̂ ﬀ İ ß 中文 عربي", "1 2 3", "__", "._.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "id"),
    [
        ("os.path.join", "os.path.join"),
        ("OrderedDict", "collections.OrderedDict"),
        ("ordered dict", "collections.OrderedDict"),
        ("Path.glob", "pathlib.Path.glob"),
        ("square root", "math.sqrt"),
        ("read csv files", "csv.reader"),
    ],
)
def test_what_is_asked_for_is_among_the_first_ten(engine, query, id):
    assert id in engine.search(query).ids[:10]


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: ascii(query[:20]))
def test_hostile_queries_are_words_or_nothing(engine, query):
    found = engine.search(query)
    assert found.features.shape == (len(found), len(FEATURES))
    assert engine.document("json") is not None


@examples(150)
@given(
    st.text(max_size=60) | st.lists(st.sampled_from(["open", "AND", "OR", "NOT", "NEAR", '"', "*", "("])).map(" ".join)
)
def test_features_of_any_query_lie_between_0_and_1(engine, query):
    found = engine.search(query)
    assert found.features.dtype == np.float32
    assert np.isfinite(found.features).all()
    assert (found.features >= 0.0).all()
    assert (found.features <= 1.0).all()


def test_candidates_stand_in_the_order_of_the_engines_score(engine):
    for query in ("open file", "thread lock", "parse"):
        found = engine.search(query)
        assert len(found) == 50
        assert len(set(found.ids)) == 50
        assert (np.diff(found.features[:, NAMES.index("engine_score")]) <= 0).all()
        np.testing.assert_allclose(found.features[:, NAMES.index("engine_rank")], 1 / np.arange(1, 51), rtol=1e-6)


def test_the_limit_cuts_the_same_list(engine):
    assert engine.search("file", limit=7).ids == engine.search("file").ids[:7]
    assert len(engine.search("file", limit=10**9)) == 1000


def test_a_beginning_finds_what_no_word_finds(engine):
    assert "sqlite3.Connection.serialize" in engine.search("seriali").ids


def test_what_was_found_cannot_be_changed_by_who_asked(engine):
    with pytest.raises(ValueError, match="read-only"):
        engine.search("file").features[0, 0] = 5.0


def test_only_text_is_a_query_and_only_a_number_a_limit(engine):
    with pytest.raises(SettingsError, match="query must be text; got int"):
        engine.search(7)
    with pytest.raises(SettingsError, match="limit must be a whole number, at least 1; got 0"):
        engine.search("file", limit=0)


def test_threads_share_an_engine(engine):
    queries = [f"{a} {b}" for a in ("read", "write", "open", "close") for b in ("file", "socket", "lock", "zip", "tar")]
    alone = [engine.search(query).ids for query in queries]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: Engine.search(engine, f"{query} ").ids, queries * 3))
    assert together == alone * 3


@pytest.mark.parametrize("candidates", [20, 50])
def test_the_starting_weights_keep_the_engines_order_and_its_first(candidates):
    weights = engine_order(candidates)
    scores = weights[NAMES.index("engine_rank")] / np.arange(1, candidates + 1)
    assert np.count_nonzero(weights) == 1
    assert plackett_luce.probability(scores, page=[0]) == pytest.approx(0.9, abs=1e-9)
