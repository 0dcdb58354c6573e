"""The reader: scikit-learn's numbers, whatever the text looks like, in bounded memory."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file
from tests.examples import examples
from tests.skipping import skip_here

from rankloop.data.svmlight import reader as svmlight
from rankloop.data.svmlight.decimals import to_float
from rankloop.home import home

SHARED = Path(__file__).parents[3] / "shared" / "data"

finite = st.one_of(
    st.floats(-3e38, 3e38, allow_nan=False).map(repr),
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(-1000, 1000, places=6).map(str),
    st.floats(0, 1).map(lambda x: f"{x:.20f}"),
    st.sampled_from(["0", "-0.0", "+1.5", ".5", "5.", "1e-400", "1E+05", "00012.50", "2.5e-310"]),
)
document = st.tuples(
    st.sampled_from(["0", "1", "2", "4", "3.0", "30"]),
    st.lists(st.tuples(st.integers(1, 300), finite), unique_by=lambda pair: pair[0], max_size=12),
    st.sampled_from(["", " # docid = GX1:2", "#tight", "\t", "  "]),
)


def lines_of(queries: list[list[tuple]]) -> list[str]:
    return [
        f"{grade} qid:{number * 7 + 1} {' '.join(f'{j}:{v}' for j, v in features)}{tail}"
        for number, documents in enumerate(queries)
        for grade, features, tail in documents
    ]


def assert_same(split, path: Path, **options) -> None:
    X, y, qid = load_svmlight_file(str(path), query_id=True, zero_based=False, **options)
    dense = X.toarray()
    with np.errstate(over="ignore"):
        assert np.array_equal(split.features, dense.astype(np.float32))
    assert np.array_equal(split.grades, y)
    assert np.array_equal(np.repeat(split.query_ids, np.diff(split.offsets)), qid)


@pytest.mark.slow
@examples(150)
@given(st.lists(st.lists(document, min_size=1, max_size=5), min_size=1, max_size=5), st.data())
def test_any_well_formed_text_gives_scikit_learns_arrays(tmp_path_factory, queries, data):
    lines = lines_of(queries)
    assume(any(features for documents in queries for _, features, _ in documents))
    path = tmp_path_factory.mktemp("svm") / "some.txt"
    # scikit-learn wants features in order; here the order is free, so it gets a sorted copy.
    inserted = data.draw(st.sampled_from(["", "\n\n", "# only a comment\n", "   \n"]))
    path.write_text(inserted.join(line + "\n" for line in lines).rstrip("\n"))
    ordered = path.with_name("sorted.txt")
    queries = [[(g, sorted(f), t) for g, f, t in documents] for documents in queries]
    ordered.write_text("\n".join(lines_of(queries)) + "\n")
    assert_same(svmlight.read(path), ordered)


@examples(400)
@given(st.integers(0, 2**64 - 1), st.integers(-345, 310))
def test_decimals_have_the_bits_of_pythons_float(digits, exponent):
    value, sure = to_float(np.uint64(digits), exponent)
    if sure:
        assert value == float(f"{digits}e{exponent}")


@pytest.mark.slow
@examples(200)
@given(st.lists(st.text("0123456789", min_size=1, max_size=40), min_size=1, max_size=4), st.data())
def test_values_are_correctly_rounded_whatever_their_length(tmp_path_factory, numbers, data):
    exponents = [data.draw(st.sampled_from(["", "e-5", "E3", "e+17", "e-40"])) for _ in numbers]
    points = [data.draw(st.integers(0, len(n))) for n in numbers]
    texts = [f"{n[:p]}.{n[p:]}{e}" for n, p, e in zip(numbers, points, exponents, strict=True)]
    path = tmp_path_factory.mktemp("svm") / "some.txt"
    path.write_text("0 qid:1 " + " ".join(f"{j + 1}:{t}" for j, t in enumerate(texts)) + "\n")
    reader = svmlight._Reader(path, None, False, None)
    next(reader.queries())
    assert reader.values[0, : len(texts)].tolist() == [float(t) for t in texts]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        "MQ2008/Fold1/train.txt",
        "MQ2008/Fold3/vali.txt",
        "MSLR-WEB10K-sample/Fold1/train.txt",
        "MSLR-WEB10K-sample/Fold1/test.txt",
        "ClueWeb09-Webis/Fold1/test.txt",
    ],
)
def test_real_files_give_scikit_learns_arrays(name):
    path = SHARED / name
    if not path.exists():
        skip_here(f"{path} is not there: real collections are not part of the repository")
    assert_same(svmlight.read(path), path)


def test_line_ends_gzip_blanks_and_byte_order_marks_change_nothing(tmp_path):
    text = "1 qid:3 1:0.5 4:2\n0 qid:3 2:1e-3\n# a comment\n\n2 qid:-9 1:1 # end"
    forms = {
        "plain.txt": text.encode(),
        "crlf.txt": text.replace("\n", "\r\n").encode(),
        "tabs.txt": text.replace(" ", "\t  ").encode(),
        "bom.txt": b"\xef\xbb\xbf" + text.encode(),
        "break.txt": text.encode() + b"\n",
        "packed.txt.gz": gzip.compress(text.encode()),
        "packed-without-suffix": gzip.compress(text.encode()),
        "latin.txt": text.encode() + b" caf\xe9",
    }
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        split = svmlight.read(tmp_path / name)
        rows = np.array([[0.5, 0, 0, 2], [0, 1e-3, 0, 0], [1, 0, 0, 0]], np.float32)
        assert np.array_equal(split.features, rows), name
        assert split.grades.tolist() == [1, 0, 2]
        assert split.query_ids.tolist() == [3, -9]
        assert split.offsets.tolist() == [0, 2, 3]


def test_chunk_and_row_limits_change_nothing(tmp_path, monkeypatch):
    generator = np.random.default_rng(1)
    path = tmp_path / "some.txt"
    with path.open("w") as file:
        for query in range(40):
            for _ in range(generator.integers(1, 30)):
                chosen = generator.choice(np.arange(1, 2 + 20 * query), 1 + query // 2, replace=False)
                values = " ".join(f"{j}:{generator.normal():.6f}" for j in chosen)
                file.write(f"{generator.integers(0, 5)} qid:{query} {values}\n")
    whole = svmlight.read(path)
    assert whole.features.shape[1] > 700
    monkeypatch.setattr(svmlight, "CHUNK", 100)
    monkeypatch.setattr(svmlight, "_ROOM", 4000)
    pieces = list(svmlight.blocks(path))
    assert len(pieces) > 10
    again = svmlight.read(path)
    for name in ("features", "offsets", "grades", "query_ids"):
        assert np.array_equal(getattr(whole, name), getattr(again, name))


def test_features_may_be_numbered_from_zero_and_their_count_given(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("1 qid:1 0:5 2:6\n")
    split = svmlight.read(path, zero_based=True, features=5)
    assert split.features.tolist() == [[5.0, 0.0, 6.0, 0.0, 0.0]]


def test_normalisation_survives_sentinels_and_a_missing_feature_counts_as_zero(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text(
        "1 qid:1 1:1.79769313486231570000e+308 2:3\n0 qid:1 1:-1.797e308 2:4\n0 qid:1\n2 qid:2 1:1.797e308 2:1\n"
    )
    split = svmlight.read(path, normalise=True)
    assert np.allclose(split.features, [[1, 0.75], [0, 1], [0.5, 0], [0, 0]], atol=1e-4)


def test_one_very_wide_document_does_not_widen_what_came_before(tmp_path):
    path = tmp_path / "some.txt"
    narrow = "".join(f"1 qid:{i} 1:0.5\n" for i in range(1000))
    for value in ("1", "2.5e-310"):  # the second is read by Python
        path.write_text(narrow + f"1 qid:5000 900000:{value}\n1 qid:5001 1:3\n")
        pieces = list(svmlight.blocks(path))
        assert pieces[0].features.shape == (999, 1)
        assert pieces[-1].features.shape[1] == 900_000
        assert sum(len(piece.grades) for piece in pieces) == 1002


MEASURE = r"""
import pathlib, re, sys
from rankloop.data.svmlight import reader as svmlight
documents = sum(len(block.grades) for block in svmlight.blocks(sys.argv[1], normalise=True))
# Not getrusage: its maximum counts the parent too, from before the new program began.
peak = re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())
print(documents, int(peak[1]) // 1024)
"""


@pytest.mark.long
@pytest.mark.process
def test_memory_does_not_grow_with_the_file(tmp_path):
    if sys.platform != "linux":
        skip_here("peak memory is read from /proc")
    generator = np.random.default_rng(1)
    lines = [
        " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(row)) + "\n" for row in generator.normal(size=(100, 136))
    ]
    used = {}
    for queries in (100, 1000):
        path = tmp_path / f"{queries}.txt"
        with path.open("w") as file:
            for query in range(queries):
                file.write("".join(f"1 qid:{query} {line}" for line in lines))
        environment = os.environ | {"NUMBA_CACHE_DIR": str(home() / "compiled")}
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        documents, used[queries] = map(int, done.stdout.split())
        assert documents == queries * 100
        path.unlink()
    assert used[1000] < 400
    assert used[1000] - used[100] < 40  # MB; the larger file has 130 MB more text
