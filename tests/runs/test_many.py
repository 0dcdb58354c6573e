"""Many simulations are those of `simulate`, whoever runs them; a mistake is named before anything runs."""

import sys
import threading

import pytest
from tests.patience import PATIENCE, run

from rankloop.data.collection import Collection
from rankloop.engines.threads import LocalThreads
from rankloop.errors import DivergenceError, SettingsError
from rankloop.learners import PDGD, ROLTR
from rankloop.runs.batches import engine_of
from rankloop.runs.many import simulate_many
from rankloop.simulation import simulate
from rankloop.users import noisy, perfect

from ..proofs import small

DATA = small.collection()
LEARNERS = [ROLTR(), PDGD()]


def bits(run):
    return run.weights.tobytes(), run.online_curve.tobytes(), run.offline_curve.tobytes(), run.clicks.tobytes()


def alone():
    cells = [(learner, user, seed) for learner in LEARNERS for user in (noisy(), perfect()) for seed in (1, 2)]
    return [bits(simulate(learner, user, DATA, 60, seed, evaluate_every=20)) for learner, user, seed in cells]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_bits_are_those_of_simulate_whatever_the_number_of_workers(workers):
    runs = simulate_many(LEARNERS, [noisy(), perfect()], DATA, 60, seeds=2, workers=workers, evaluate_every=20)
    assert [bits(run) for run in runs] == alone()
    assert [(place.label, place.user) for place in runs.places][::2] == [
        ("ROLTR", "noisy"), ("ROLTR", "perfect"), ("PDGD", "noisy"), ("PDGD", "perfect"),
    ]  # fmt: skip


def test_an_engine_of_ones_own_gives_the_same_bits():
    with LocalThreads(2) as engine:
        runs = simulate_many(LEARNERS, [noisy(), perfect()], DATA, 60, [1, 2], on=engine, evaluate_every=20)
    assert [bits(run) for run in runs] == alone()


@pytest.mark.slow
@pytest.mark.process
def test_processes_give_the_same_bits():
    runs = simulate_many(LEARNERS, [noisy(), perfect()], DATA, 60, 2, on="processes", workers=2, evaluate_every=20)
    assert [bits(run) for run in runs] == alone()


def test_labels_are_those_given_or_names_that_tell_apart():
    given = simulate_many({"mine": ROLTR()}, {"people": noisy()}, DATA, 20, 1)
    assert given.places[0] == ("small", "people", "mine")
    made = simulate_many([ROLTR(), ROLTR(discount=0.5), PDGD()], noisy(), DATA, 20, 1)
    assert made.labels == ["ROLTR discount=0.0", "ROLTR discount=0.5", "PDGD"]


def test_folds_of_a_collection_are_runs_of_one_place():
    folds = [Collection("mine", DATA.train, DATA.test, fold=fold) for fold in (1, 2)]
    runs = simulate_many(ROLTR(), noisy(), folds, 20, seeds=[3])
    assert runs.collections == ["mine"]
    assert [run.settings["data"]["fold"] for run in runs] == [1, 2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learners": []}, "learners must not be empty"),
        ({"learners": [ROLTR(), ROLTR()]}, "learners must be different; the same one was given twice"),
        ({"seeds": 0}, "seeds must be a whole number, at least 1"),
        ({"seeds": []}, "seeds must be different, and at least one"),
        ({"seeds": [1, 1]}, r"must be different, and at least one; got \[1, 1\]"),
        ({"seeds": "five"}, "seeds must be a whole number or a list of them; got 'five'"),
        ({"workers": 0}, "workers must be a whole number, at least 1"),
        ({"on": "moon"}, "on must be threads, processes, gpu, ray, .* got 'moon'"),
        ({"pagesize": 3}, "pagesize is not a setting of a simulation; choose from .*delay, evaluate_every"),
        ({"progress": False, "page_size": 0}, "ROLTR, noisy, small, seed 1: simulate: page_size must be"),
    ],
)
def test_a_mistake_is_a_sentence(changes, words):
    asked = {"learners": ROLTR(), "users": noisy(), "data": DATA, "impressions": 20, "seeds": 2} | changes
    with pytest.raises(SettingsError, match=words):
        simulate_many(**asked)


def test_a_run_that_fails_in_somebodys_own_code_is_named_and_keeps_its_cause():
    def clumsy(grades):
        raise KeyError("boom")

    with pytest.raises(KeyError) as caught:
        simulate_many(PDGD(), clumsy, DATA, 5, seeds=[3])
    assert caught.value.__notes__ == ["in the run PDGD, clumsy, small, seed 3"]


def test_a_run_that_fails_is_named_and_the_others_are_stopped(monkeypatch):
    """One run waits until it is told to stop, and so never returns unless the other's failure stops it."""
    waiting = threading.Event()

    def failing(learner, user, data, impressions, seed, *, progress):
        if seed == 2:
            assert waiting.wait(PATIENCE), "the other run did not begin"
            raise DivergenceError("the learner diverged")
        while True:
            waiting.set()
            progress(1)

    monkeypatch.setattr("rankloop.runs.many.simulate", failing)
    with pytest.raises(DivergenceError, match="ROLTR, noisy, small, seed 2: the learner diverged"):
        simulate_many(ROLTR(), noisy(), DATA, 30, seeds=[1, 2], workers=2)


SCRIPT = """
import rankloop as rl
from rankloop.sources import fingerprint_of

def own(grades, draws):
    return [draws.uniform(k) < 0.2 * grade for k, grade in enumerate(grades)]

if __name__ == "__main__":
    people = {"function": own, "lambda": lambda grades: [0] * len(grades)}
    runs = rl.simulate_many(rl.PDGD(), people, rl.load("tiny"), 20, seeds=2, on="processes", workers=2, progress=False)
    print(runs.users, {run.manifest["sources"] for run in runs} == {fingerprint_of(own)})
"""


@pytest.mark.long
@pytest.mark.process
def test_people_of_the_script_itself_run_in_processes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    for words in (["script.py"], ["-c", (tmp_path / "script.py").read_text()]):
        done = run([sys.executable, *words], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("['function', 'lambda'] ")


def test_on_a_device_results_come_in_order_with_the_rest_computed_beside(stand_in):
    runs = simulate_many(LEARNERS, [noisy(), perfect()], DATA, 60, 2, on="gpu", workers=2, evaluate_every=20)
    assert [bits(run) for run in runs] == alone()
    assert [engine_of(run.manifest) for run in runs] == ["gpu:0123456789abcdef"] * 4 + [""] * 4
    assert stand_in.batches == [4]


def test_a_run_that_fails_on_a_device_is_named(stand_in):
    def diverge(asked):
        if any(one.seed == 2 for one in asked):
            raise DivergenceError("the weights grew beyond all numbers")

    stand_in.before = diverge
    with pytest.raises(DivergenceError, match=r"ROLTR, noisy, .*seed 2: the weights grew"):
        simulate_many(ROLTR(), noisy(), DATA, 60, [1, 2, 3], on="gpu")


def test_without_a_device_nothing_runs(no_device):
    with pytest.raises(SettingsError, match=r"^simulate_many, on='gpu': there is no CUDA device on this machine$"):
        simulate_many(LEARNERS, noisy(), DATA, 60, 2, on="gpu")
