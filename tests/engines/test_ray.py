"""The same study on a Ray cluster: the same bits, also when a node dies in the middle."""

import shutil

import pytest

from rankloop.engines.ray import RayCluster
from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS
from rankloop.plugins import ATTRIBUTES
from rankloop.studies.runner import claimed, make_plan, run_plan
from rankloop.studies.specification import cells, parse

from ..studies.test_own_work import METHOD, TASTE
from ..studies.test_runner import numbers, run
from ..studies.test_specification import SMALL

ray = pytest.importorskip("ray")

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def cluster():
    """A head without work of its own, and a node with one core."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_DISABLE_IMPORT_WARNING", "1")
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        started.add_node(num_cpus=1)
        started.wait_for_nodes()
        yield started
        started.shutdown()


def test_a_study_survives_a_lost_node_and_ends_with_the_bits_of_this_machine(tmp_path, cluster):
    another = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    text = SMALL.replace("= 200", "= 8000").replace("= 100", "= 4000")
    study = parse(text, "small")
    plan = make_plan(study, cells(study), tmp_path / "ray")
    killed = []

    def show(progress):
        if progress.done >= 3 and not killed:
            killed.append(progress.done)
            cluster.remove_node(another, allow_graceful=False)

    with claimed(plan) as plan, RayCluster(cluster.address) as engine:
        outcome = run_plan(plan, engine, show)
    assert killed
    assert killed[0] < len(plan.missing)
    assert outcome.failures == []
    assert numbers(outcome) == numbers(run(text, tmp_path / "here"))


def test_what_a_computation_raises_there_is_raised_here_in_the_same_words(cluster):
    with RayCluster(cluster.address) as engine:
        error = engine.submit(parse, SMALL.replace("PDGD", "PDQD"), "small").exception()
        assert engine.submit(parse, SMALL, "small").result() == parse(SMALL, "small")
    with pytest.raises(SettingsError) as here:
        parse(SMALL.replace("PDGD", "PDQD"), "small")
    assert type(error) is SettingsError
    assert str(error) == str(here.value)


def test_an_address_where_nobody_answers_is_told_at_once():
    with pytest.raises(SettingsError, match="no Ray cluster answers"), RayCluster("127.0.0.1:1"):
        pass


def test_who_has_no_cluster_is_told_how_to_start_one(monkeypatch):
    def init(**_):
        raise ConnectionError("Could not find any running Ray instance. Please specify `--address`.")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(SettingsError, match="no Ray cluster runs on this machine; start one with `ray start --head`"):
        RayCluster("auto")


@pytest.fixture
def own_methods():
    """What a test registers is gone after it."""
    kept = dict(LEARNERS)
    yield
    LEARNERS.clear()
    LEARNERS.update(kept)
    ATTRIBUTES.pop("taste", None)


@pytest.mark.usefixtures("own_methods")
def test_nodes_are_sent_the_files_of_a_plugin(tmp_path, cluster):
    """They need no folder of this machine: it is gone before anything runs."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "sent_steps.py").write_text("STEP = 0.1\n")
    (mine / "sent_methods.py").write_text(METHOD.replace("steps", "sent_steps").replace("Stepping", "Sent"))
    (mine / "sent_tastes.py").write_text(TASTE)
    learners = '[{ learner = "Sent" }, { learner = "PDGD" }]'
    text = SMALL.replace('[{ learner = "ROLTR" }, { learner = "PDGD" }]', learners)
    people = 'users = ["noisy", { attraction = { by = "attribute", attribute = "taste" } }]\n'
    study = parse('plugins = ["sent_methods", "sent_tastes"]\n' + people + text, "small", mine)
    plan = make_plan(study, cells(study), tmp_path / "ray")
    with claimed(plan) as plan, RayCluster(cluster.address, study.plugins) as engine:
        shutil.rmtree(mine)
        outcome = run_plan(plan, engine, lambda _: None)
    assert outcome.failures == []
    sent, own = ([row[1:] for row in numbers(outcome) if row[0] == label] for label in ("Sent", "PDGD"))
    assert sent == own
    assert len(sent) == 8
