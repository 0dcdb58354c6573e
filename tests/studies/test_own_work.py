"""Work from outside the package in studies: found, carried to workers, keyed by its own sources; or one sentence."""

import json
import os
import tomllib

import pyarrow.parquet as pq
import pytest
from tests import preloaded
from tests.patience import COMMAND, run

import rankloop as rl
from rankloop.studies.records import read_results

pytestmark = pytest.mark.process

# The kernels are PDGD's: nothing has to be compiled. What it does is in no setting, only in the code it imports.
METHOD = """
import rankloop as rl
from rankloop.learners import Learner
from steps import STEP

@rl.register
class Stepping(Learner, frozen=True):
    def model(self, features, page_size, seed, weights=None):
        return rl.PDGD(learning_rate=STEP).model(features, page_size, seed, weights)

    def work(self, features, page_size, candidates):
        return rl.PDGD().work(features, page_size, candidates)
"""
PERSON = """
import rankloop as rl

def click(grades, draws):
    return draws.uniforms(len(grades)) < 0.2 * grades

@rl.register
class Reader(rl.users.User, frozen=True):
    def compiled(self, page_size, split=None):
        return click
"""
STUDY = """
name = "own"
plugins = ["methods"]
impressions = 100
repeats = 2
evaluate_every = 50
users = ["noisy"]
collections = ["tiny"]

[[grids]]
name = "own"
learners = [{ learner = "Stepping" }, { learner = "PDGD" }]
"""


@pytest.fixture
def place(tmp_path):
    """A folder with a study and its plugin."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "methods.py").write_text(METHOD)
    (folder / "steps.py").write_text("STEP = 0.1\n")
    (folder / "own.toml").write_text(STUDY)
    return folder


def plugins_of(path):
    return tomllib.loads(path.read_text())["plugins"]  # read, not loaded: commands inherit the module path of the tests


def values(folder, label):
    return read_results(folder).values("online_ndcg", label=label)


def keys(folder, label):
    return set(read_results(folder).values("key", label=label))


@pytest.mark.long
def test_a_plugin_takes_part_from_any_folder_and_an_edit_gives_new_numbers_under_new_keys(place, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = elsewhere / "results" / "own"
    done = preloaded.run("run", "../mine/own.toml", "--workers", 2, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    # With the step of PDGD it is PDGD, in worker processes too.
    assert values(out, "Stepping") == values(out, "PDGD")
    before = keys(out, "Stepping"), keys(out, "PDGD")
    (place / "steps.py").write_text("STEP = 0.001  # much smaller\n")
    done = preloaded.run("run", "../mine/own.toml", "--workers", 2, cwd=elsewhere, forks=True)
    assert "4 runs, 2 done, 2 to do" in done.stderr
    assert "2 runs of other sources (the code has changed since)" in done.stdout
    assert "--data" not in (out / "report.md").read_text().partition("## How to reproduce")[0]
    assert values(out, "Stepping") != values(out, "PDGD")
    assert not keys(out, "Stepping") & before[0]
    assert keys(out, "PDGD") == before[1]
    # A report is written, and a results folder's own study is run, from anywhere.
    for words in (("report", out), ("results", out), ("run", out / "study.toml", "--out", tmp_path / "again")):
        done = preloaded.run(*words, cwd=tmp_path, forks=True)
        assert done.returncode == 0, done.stderr
    assert "Stepping" in (out / "report.html").read_text()
    assert values(tmp_path / "again", "Stepping") == values(out, "Stepping")


def test_a_plain_person_takes_part_in_a_study_and_in_tuning(place):
    (place / "people.py").write_text(PERSON)
    text = STUDY.replace('["methods"]', '["people.py"]').replace('["noisy"]', '["reader"]')
    (place / "own.toml").write_text(text.replace('{ learner = "Stepping" }, ', ""))
    done = preloaded.run("run", "own.toml", "--json", cwd=place, forks=True)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["user"], row["label"]) == ("reader", "PDGD")
    words = ("--set", "learning_rate=0.01", "--impressions", 50, "--repeats", 2, "--workers", 2, "--json")
    chosen = ("--plugin", "people", "--plugin", "methods", "--user", "reader", "--data", "tiny", "--out", "tuned.toml")
    done = preloaded.run("tune", "PDGD", *words, *chosen, cwd=place, forks=True)
    assert done.returncode == 0, done.stderr
    assert plugins_of(place / "tuned.toml") == [str(place / "people.py")]


TASTE = """
import rankloop as rl

@rl.attribute
def taste(split):
    return 1.0 * (split.features[:, 1] > split.features[:, 1].mean())
"""


def test_people_of_a_study_look_at_an_attribute_that_a_plugin_brings(place):
    (place / "tastes.py").write_text(TASTE)
    people = '["noisy", { attraction = { by = "attribute", attribute = "taste" } }]'
    text = STUDY.replace('["methods"]', '["tastes"]').replace('["noisy"]', people)
    (place / "own.toml").write_text(text.replace('{ learner = "Stepping" }, ', ""))
    words = ("run", "own.toml", "--workers", 2)
    done = preloaded.run(*words, cwd=place, forks=True)
    assert done.returncode == 0, done.stderr
    out = place / "results" / "own"
    before = {record.user: record.key for record in read_results(out).records if record.seed == 1}
    # Other values of the attribute, other numbers: only for who looks at it.
    (place / "tastes.py").write_text(TASTE.replace(" > ", " < "))
    assert "4 runs, 2 done, 2 to do" in preloaded.run(*words, cwd=place, forks=True).stderr
    after = {record.user: record.key for record in read_results(out).records if record.seed == 1}
    assert after["noisy"] == before["noisy"]
    assert after["taste"] != before["taste"]
    checked = preloaded.run("results", "verify", out, "--sample", 4, cwd=place, forks=True)
    assert checked.returncode == 0, checked.stdout
    chosen = ("--user", '{ attraction = { by = "attribute", attribute = "taste" } }', "--data", "tiny", "--workers", 1)
    few = ("--set", "learning_rate=0.01", "--impressions", 20, "--repeats", 1, "--out", "tuned.toml")
    done = preloaded.run("tune", "PDGD", "--plugin", "tastes", *chosen, *few, cwd=place)
    assert done.returncode == 0, done.stderr
    assert plugins_of(place / "tuned.toml") == [str(place / "tastes.py")]


@pytest.mark.parametrize(
    ("line", "words"), [("1 / 0", "ZeroDivisionError: division by zero"), ("exit(3)", "SystemExit: 3")]
)
def test_an_attribute_that_cannot_be_told_is_a_sentence_with_file_and_line(place, line, words):
    (place / "tastes.py").write_text(TASTE.replace("    return", f"    {line}\n    return"))
    people = '[{ attraction = { by = "attribute", attribute = "taste" } }]'
    (place / "own.toml").write_text(STUDY.replace('["methods"]', '["tastes", "methods"]').replace('["noisy"]', people))
    refused = preloaded.run("run", "own.toml", cwd=place)
    assert (refused.returncode, refused.stderr.strip().count("\n")) == (2, 0)
    sentence = f"the attribute taste failed: {words} ({place / 'tastes.py'}, line 6)"
    assert sentence in refused.stderr
    chosen = ("--user", people[1:-1], "--data", "tiny", "--set", "learning_rate=0.01", "--workers", 1)
    refused = preloaded.run("tune", "PDGD", "--plugin", "tastes", *chosen, cwd=place)
    assert refused.returncode == 2
    assert refused.stderr.strip().splitlines()[-1].endswith(sentence)


def test_a_command_takes_plugins_for_a_study_that_does_not_name_them(place):
    (place / "own.toml").write_text(STUDY.replace('plugins = ["methods"]\n', ""))
    refused = preloaded.run("run", "own.toml", cwd=place)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "learner must be one of ROLTR" in refused.stderr
    assert "comes with a plugin, a module in which its class stands below @rl.register" in refused.stderr
    words = ("--plugin", "methods", "--impressions", 20, "--repeats", 1)
    done = preloaded.run("run", "own.toml", *words, cwd=place, forks=True)
    assert done.returncode == 0, done.stderr
    assert plugins_of(place / "results" / "own" / "study.toml") == [str(place / "methods.py")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "own.toml: no plugin 'methods': there is no methods.py in "),
        ("x = 1 / 0\n", "own.toml: plugin 'methods' cannot be imported: ZeroDivisionError: division by zero ("),
        (METHOD.replace("Stepping", "PDGD"), "own.toml: plugin 'methods': methods.PDGD would be the learner 'PDGD'"),
        ("", "learner must be one of ROLTR"),
    ],
    ids=["missing", "raises", "taken", "empty"],
)
def test_what_is_wrong_with_a_plugin_is_one_sentence(place, text, sentence):
    if text is None:
        (place / "methods.py").unlink()
    else:
        (place / "methods.py").write_text(text)
    done = preloaded.run("run", "own.toml", cwd=place)
    assert done.returncode == 2
    assert done.stderr.startswith("rankloop: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr
    assert not (place / "results").exists()


NAMELESS = """
import rankloop as rl

@rl.register
class Nameless(rl.users.User, frozen=True):
    def default_name(self):
        return {}["name"]
"""
RANKER = """
import rankloop as rl
from rankloop.rankers import Ranker

@rl.register
class Broken(Ranker, frozen=True):
    def parameters(self, initial, features, seed, weights=None):
        raise ArithmeticError("no weights")
"""


@pytest.mark.parametrize(
    ("text", "study", "sentence"),
    [
        (NAMELESS, ('["noisy"]', '["nameless"]'), "grid own: users: KeyError: 'name' (METHODS, line 7)"),
        (RANKER, ('"Stepping"', '"PDGD", label = "x", ranker = { kind = "broken" }'),
         "grid own, learner x, tiny: ArithmeticError: no weights (METHODS, line 8)"),
        (METHOD.replace("return rl.PDGD(learning_rate=STEP)", "return self"), None,
         "grid own, learner Stepping, tiny: RecursionError: maximum recursion depth exceeded (METHODS, line 9)"),
        (METHOD, ('["noisy"]', '[{ attraction = "noisy", examination = [1.0, 0.5], name = "phone" }]'),
         "grid own, user phone, tiny: propensities are given for 2 ranks, but a page shows 10"),
        (METHOD, ('"Stepping"', '"ROLTR", propensities = { kind = "known", values = [1.0, 0.5] }'),
         "grid own, learner ROLTR, tiny: propensities are given for 2 ranks, but a page shows 10"),
        (METHOD + PERSON, ('["noisy"]', '[{ kind = "mixture", people = ["noisy", "reader"] }]'),
         "grid own, user noisy + reader, tiny: user 'reader' has a click of its own"),
    ],
    ids=["name", "parameters", "model", "examination", "propensities", "mixture"],
)  # fmt: skip
def test_what_cannot_be_made_is_one_sentence_before_anything_runs(place, text, study, sentence):
    (place / "methods.py").write_text(text)
    (place / "own.toml").write_text(STUDY.replace(*study) if study else STUDY)
    if text in (NAMELESS, RANKER):
        (place / "own.toml").write_text((place / "own.toml").read_text().replace('{ learner = "Stepping" }, ', ""))
    done = preloaded.run("run", "own.toml", cwd=place)
    assert (done.returncode, done.stderr.strip().count("\n")) == (2, 0), done.stderr
    assert sentence.replace("METHODS", str(place / "methods.py")) in done.stderr
    assert not (place / "results").exists()


@pytest.mark.parametrize(
    ("line", "words"), [("{}['boom']", "KeyError: 'boom'"), ("raise SystemExit(0)", "SystemExit: 0")]
)
def test_a_run_that_fails_in_a_plugin_says_where(place, line, words):
    (place / "methods.py").write_text(METHOD + PERSON.replace("    return draws", f"    {line}\n    return draws"))
    people = '["noisy", "reader"]'
    (place / "own.toml").write_text(STUDY.replace('["noisy"]', people).replace("repeats = 2", "repeats = 1"))
    done = preloaded.run("run", "own.toml", "--only", "PDGD", "--workers", 1, cwd=place, forks=True)
    assert done.returncode == 1
    told = done.stderr.splitlines()[-1]
    assert told == f"failed: PDGD, reader, tiny, seed 1: {words} ({place / 'methods.py'}, line 17)"
    assert pq.read_table(place / "results" / "own" / "results.parquet")["user"].to_pylist() == ["noisy"]


@pytest.fixture
def installed(tmp_path):
    """An environment in which a package announces a plugin."""
    folder = tmp_path / "installed"
    announced = folder / "announced-1.0.dist-info"
    announced.mkdir(parents=True)
    (announced / "METADATA").write_text("Metadata-Version: 2.1\nName: announced\nVersion: 1.0\n")
    (announced / "entry_points.txt").write_text("[rankloop.plugins]\nmine = announced_methods\n")
    (folder / "announced_methods.py").write_text(METHOD)
    (folder / "steps.py").write_text("STEP = 0.1\n")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return folder, os.environ | {"PYTHONPATH": path}


@pytest.mark.long
def test_an_installed_package_announces_its_plugins(place, installed):
    _, environment = installed
    (place / "own.toml").write_text(STUDY.replace('plugins = ["methods"]\n', ""))
    words = ("run", "own.toml", "--impressions", "20", "--repeats", "1", "--json")
    done = run([*COMMAND, *words], cwd=place, env=environment)
    assert done.returncode == 0, done.stderr
    assert [row["label"] for row in json.loads(done.stdout)["rows"]] == ["Stepping", "PDGD"]


def test_a_broken_installed_plugin_troubles_only_who_looks_for_a_name(place, installed):
    folder, environment = installed
    (folder / "announced_methods.py").write_text("1 / 0\n")
    looking = "from rankloop.learners import from_settings\nprint(from_settings({'learner': 'PDGD'}))\n"
    looking += "from rankloop.errors import SettingsError\n"
    looking += "try:\n    from_settings({'learner': 'Stepping'})\nexcept SettingsError as error:\n    print(error)\n"
    done = run([COMMAND[0], "-c", looking], cwd=place, env=environment)
    first, second = done.stdout.splitlines()
    assert first == "PDGD()"
    assert second == (
        "the installed plugin 'mine' (announced_methods) cannot be imported: ZeroDivisionError: division by zero"
    )
    done = run([*COMMAND, "keys", "create", "shop", "--scope", "rank"], cwd=place, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_live_model_has_the_learner_of_a_plugin(place):
    code = """
import msgspec
from rankloop.plugins import load
load(["methods"])
from rankloop.live.settings import ModelSettings
text = b'{"name": "shop", "features": 2, "seed": 1, "learner": {"learner": "Stepping"}}'
print(msgspec.json.decode(text, type=ModelSettings).learner)
"""
    done = run([COMMAND[0], "-c", code], cwd=place)
    assert done.stdout.strip() == "Stepping()", done.stderr
    without = code.replace('load(["methods"])', "") + "\n"
    without = without.replace("print(", "from rankloop.live.settings import stored_settings\n").partition(
        "msgspec.json"
    )[0]
    done = run([COMMAND[0], "-c", without + "stored_settings(text)"], cwd=place)
    assert "got 'Stepping'. If Stepping is your own, name the module that brings it" in done.stderr


def test_the_same_numbers_as_simulate(place):
    done = preloaded.run("run", "own.toml", "--json", cwd=place, forks=True)
    rows = json.loads(done.stdout)["rows"]
    runs = [rl.simulate(rl.PDGD(), rl.users.noisy(), rl.load("tiny"), 100, seed, evaluate_every=50) for seed in (1, 2)]
    assert rows[0]["online_ndcg"]["runs"] == [one.online_ndcg for one in runs]
