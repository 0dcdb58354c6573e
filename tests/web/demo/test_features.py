"""Every feature follows its rule."""

import pytest

from rankloop.web.demo.documents import document
from rankloop.web.demo.engine import Engine
from rankloop.web.demo.features import FEATURES, LABELS, RESULTS, feature_matrix
from rankloop.web.demo.index import write_index

NAMES = list(FEATURES)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("index") / "small.sqlite"
    documents = [
        document("a", "module", "a", "a", "About pens."),
        document("a.pen", "function", "a", "pen(ink)", "Write with it."),
        document("a.Pen.__init__", "method", "a", "__init__(ink)", "Fill a pen."),
        document("pen_case", "class", "builtins", "pen_case()", ""),
        document("b.other", "property", "b", "other", "x" * 400),
    ]
    write_index(path, documents)
    return Engine(path)


def test_every_feature_follows_its_rule(small):
    found = small.search("pen")
    row = {
        id: dict(zip(FEATURES, features.tolist(), strict=True))
        for id, features in zip(found.ids, found.features, strict=True)
    }
    assert set(row) == {"a", "a.pen", "a.Pen.__init__", "pen_case"}
    exact, method, case, module = row["a.pen"], row["a.Pen.__init__"], row["pen_case"], row["a"]
    assert (exact["name_exact"], exact["name_prefix"], exact["name_coverage"]) == (1, 1, 1)
    assert (case["name_exact"], case["name_prefix"], case["builtin"], case["documented"]) == (0, 1, 1, 0)
    assert (method["special"], method["module_match"], method["summary_coverage"]) == (1, 1, 1)
    assert [row[id][f"is_{kind}"] for id, kind in [("a", "module"), ("a.pen", "function")]] == [1, 1]
    assert all(sum(values[f"is_{k}"] for k in ("module", "class", "function", "method", "property")) == 1
               for values in row.values())  # fmt: skip
    assert exact["depth"] == pytest.approx(1 / 3)
    assert exact["name_length"] == pytest.approx(3 / 20)
    assert small.search("other").features[0, NAMES.index("doc_length")] == pytest.approx(0.5)
    assert module["bm25_name"] == 0 < module["bm25_doc"]
    assert exact["bm25_doc"] == 0 < exact["bm25_name"]


def test_no_candidates_are_an_empty_matrix_of_the_right_width():
    assert feature_matrix("pen", ["pen"], []).shape == (0, len(FEATURES))


def test_scores_without_a_bound_stay_below_one_and_a_negative_one_counts_as_none():
    found = [(document("a.b", "function", "a", "b()", ""), (1e9, 5.0, -3.0, 0.0, 1e9))]
    row = dict(zip(FEATURES, feature_matrix("x", ["x"], found)[0].tolist(), strict=True))
    assert row["engine_score"] == pytest.approx(1.0)
    assert [row[f"bm25_{field}"] for field in ("name", "module", "signature")] == [0.5, 0.0, 0.0]
    assert row["bm25_doc"] <= 1.0


def test_nothing_typed_is_the_beginning_of_no_name():
    row = dict(
        zip(FEATURES, feature_matrix(" ", [], [(document("a", "module", "a", "a", ""), (0.0,) * 5)])[0], strict=True)
    )
    assert (row["name_exact"], row["name_prefix"], row["name_coverage"]) == (0, 0, 0)


def test_every_feature_has_a_name_for_people():
    assert list(LABELS) == NAMES
    assert len(set(LABELS.values())) == len(NAMES)
    assert set(RESULTS) <= set(NAMES)
