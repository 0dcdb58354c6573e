"""The root of the command line: its help, and mistakes as one sentence."""

import pytest
from tests import preloaded
from tests.patience import COMMAND, run

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--data", "msrl-like"), "mslr-like"),
        (("run", "--data", "tiny", "--only", "ROLTER"), "ROLTER"),
        (("run", "no-such-study"), "no-such-study"),
        (("run", "--impressions", 0), "impressions"),
        (("run", "--repeats", 0), "repeats"),
        (("run", "--data", "tiny", "--scale", -1), "scale"),
        (("run", "--data", "tiny", "--workers", 0), "workers"),
        (("run", "--seed", -1), "seed"),
        (("data", "info", "nowhere"), "nowhere"),
        (("data", "add", "../evil", "."), "../evil"),
        (("data", "add", "mine", "no/such/folder"), "no/such/folder"),
        (("data", "remove", "nowhere"), "nowhere"),
        (("data", "make", "moon-like"), "moon-like"),
        (("fly",), "fly"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, arguments, words):
    done = preloaded.run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_help_teaches():
    for arguments in ((), ("run",), ("study",), ("data",), ("data", "add"), ("bench",)):
        done = preloaded.run(*arguments, "--help")
        assert done.returncode == 0
        assert len(done.stdout) > 200
    assert "rankloop 0." in run([*COMMAND, "--version"]).stdout
