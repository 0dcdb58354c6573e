"""What the compiler says, in one sentence; and a study whose plugin cannot be compiled."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numba import njit
from tests import preloaded

from rankloop.errors import SettingsError
from rankloop.studies import mistakes
from rankloop.studies.mistakes import in_one_sentence, own_place, sentence


def unfinished(x):
    return x


def calls_what_is_not_compiled(x):
    return unfinished(x)


def adds_a_word(x):
    return x + "word"


def has_two_kinds_of_answer(x):
    if x > 0:
        return "yes"
    return 0.0


def sums_nonsense(x):
    return np.sum(x, nonsense=1)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (calls_what_is_not_compiled, "Untyped global name 'unfinished'"),
        (adds_a_word, "there is no add for add(int64, Literal[str](word))"),
        (has_two_kinds_of_answer, "Can't unify return type"),
        (sums_nonsense, "line "),
    ],
)
def test_what_cannot_be_compiled_is_one_line_with_its_place(function, words):
    with pytest.raises(SettingsError) as caught, in_one_sentence():
        njit(function)(1)
    told = str(caught.value)
    assert told.startswith("cannot be compiled: ")
    assert words in told
    assert "test_mistakes.py, line " in told
    assert "\n" not in told


def test_what_is_raised_in_code_of_ones_own_is_one_line_with_its_place():
    place = r"\(.*test_mistakes.py, line \d+\)$"
    for about, before in (("", ""), ("PDGD", "PDGD: ")):
        with pytest.raises(SettingsError, match=f"^{before}KeyError: 'boom' {place}"), in_one_sentence(about):
            raise KeyError("boom")
        with pytest.raises(SettingsError, match=f"^{before}JSONDecodeError: .* {place}"), in_one_sentence(about):
            json.loads("")  # which raises in Python's own code
        with pytest.raises(SettingsError, match=rf"^{before}SystemExit: 0 \("), in_one_sentence(about):
            sys.exit(0)
        with pytest.raises(SettingsError, match=rf"^{before}no such thing$"), in_one_sentence(about):
            raise SettingsError("no such thing")


def test_a_fault_of_the_package_keeps_its_traceback():
    namespace = {"__name__": "rankloop.somewhere"}
    exec(compile("def fails():\n    1 / 0", str(Path(mistakes.__file__).with_name("somewhere.py")), "exec"), namespace)
    with pytest.raises(ZeroDivisionError) as caught:
        namespace["fails"]()
    assert own_place(caught.value.with_traceback(caught.value.__traceback__.tb_next)) is None


VERB = """Failed in nopython mode pipeline (step: nopython frontend)
No implementation of function Function(<function score_several at 0x7ff29319d120>) found for signature:

 >>> score_several(RoundsTable(array(float32, 2d, C) x 1), array(float32, 2d, C), array(float32, 2d, C))

There are 4 candidate implementations:
 - Of which 4 did not match due to:
  No match.

During: typing of call at /src/rankloop/evaluation.py (152)
"""
PARAMETERS = """Failed in nopython mode pipeline (step: nopython frontend)
No implementation of function Function(<function click at 0x7ff123460680>) found for signature:

 >>> click(FourTables(int64), Shown(array(int64, 1d, C), int64), uint64, int64, array(float64, 1d, C))

 - Of which 2 did not match due to:
  Rejected as the implementation raised a specific error:
    TypingError: Cannot bind 'args=(FourTables(int64), Array(float64, 1, 'C')) kws={}' to signature \
'(user, shown, seed, impression)' due to "TypeError: too many positional arguments".
  raised from /numba/core/typing/templates.py:228

During: typing of call at /src/rankloop/loop.py (116)
"""
NOTHING = """Failed in nopython mode pipeline (step: nopython frontend)
No implementation of function Function(<built-in function setitem>) found for signature:

 >>> setitem(array(float64, 1d, C), int64, none)

During: typing of setitem at /src/rankloop/loop.py (152)

def learn_due(model, work, queries, pending, seed, now, due, row, record):
        record.variance[row] = variance
"""


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (VERB, "no score_several is registered for RoundsTable; write it with @implements(score_several, RoundsTable)"),
        (
            PARAMETERS,
            "the parameters (user, shown, seed, impression) do not fit the call: too many positional arguments "
            "(/src/rankloop/loop.py, line 116)",
        ),
        (NOTHING, "learn must return a number on every path, np.nan if it measures nothing"),
        ("", "Numba does not say why"),
    ],
    ids=["verb", "parameters", "nothing", "silence"],
)
def test_what_newcomers_forget_is_said_in_their_words(message, told):
    assert sentence(message) == f"cannot be compiled: {told}"


PERSON = """
from typing import NamedTuple

import rankloop as rl
from rankloop.kernels import implements, kernel
from rankloop.users.contract import click

class FussyTables(NamedTuple):
    depth: int

@rl.register
class Fussy(rl.users.User, frozen=True):
    def compiled(self, page_size, split=None):
        return FussyTables(3)

@implements(click, FussyTables)
@kernel
def fuss(user, shown, seed, impression, clicks):
    clicks[:] = user.dept
"""
STUDY = """
name = "fussy"
plugins = ["fussy"]
impressions = 50
repeats = 1
evaluate_every = 50
users = ["noisy", "fussy"]
collections = ["tiny"]

[[grids]]
name = "fussy"
learners = [{ learner = "PDGD" }]
"""


@pytest.mark.process
def test_a_person_that_cannot_be_compiled_fails_her_run_and_no_other(tmp_path):
    (tmp_path / "fussy.py").write_text(PERSON)
    (tmp_path / "fussy.toml").write_text(STUDY)
    done = preloaded.run("run", "fussy.toml", "--workers", 1, cwd=tmp_path, forks=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("failed: PDGD, fussy, tiny, seed 1: cannot be compiled: Unknown attribute 'dept' of type ")
    assert last.endswith("fussy.py, line 19)")
    # Read as a table: this process shall not know her.
    assert pq.read_table(tmp_path / "results" / "fussy" / "results.parquet")["user"].to_pylist() == ["noisy"]


def test_colours_of_a_terminal_are_left_out():
    message = "\x1b[1mFailed in nopython mode pipeline (step: x)\n\x1b[1mUnknown attribute 'x'\x1b[0m\n\nat my.py (3)"
    assert sentence(message) == "cannot be compiled: Unknown attribute 'x' (my.py, line 3)"
