"""Runs on a device against those of the CPU. `make test-gpu` runs these where there is one."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from tests.gpu.test_beliefs import BELIEVED
from tests.gpu.test_duels import DUELS
from tests.gpu.test_packing import GRADED, PAIRED, PEOPLE, REINFORCED
from tests.gpu.test_rivals import COUNTERFACTUAL, MULTILEAVED

import rankloop as rl
from rankloop.benchmark.yardsticks import mslr_shaped
from rankloop.errors import DivergenceError, SettingsError
from rankloop.gpu import Request, simulate_on_device, why_no_device
from rankloop.gpu.beliefs import posterior_shape
from rankloop.gpu.planning import EVEN, SHAPES
from rankloop.gpu.rivals import comparison_shape, counterfactual_shape
from rankloop.gpu.running import outcomes_on_device

SAME = (
    "weights",
    "checkpoints",
    "online_curve",
    "offline_curve",
    "clicks",
    "other_online",
    "other_offline",
    "query_ids",
)


SETTINGS: list[dict[str, object]] = [
    {"by_query": "all"},
    {"by_query": "none"},
    {"evaluate_every": 0},
    {"nothing_relevant": "zero"},
    *({"page_size": size} for size in (1, 2, 3, 8, 9, 12, 30)),
]
METHODS = [rl.ROLTR(), rl.MDPRank(), rl.PDGD(), rl.Posterior(), rl.DBGD(), rl.DBGD(interleaving="team-draft")]
METHODS += [rl.PMGD(), rl.PMGD(candidates=150, delta=0.5), rl.COLTR()]


def requests(learners, users, seeds: Sequence[int], impressions=600, data=None, **settings):
    data = data or rl.load("tiny")
    return [Request(*one, data, impressions, seed, settings) for *one, seed in product(learners, users, seeds)]


def assert_equal_runs(asked, found):
    for request, run in zip(asked, found, strict=True):
        learner, user, data, impressions, seed, settings = request
        here = rl.simulate(learner, user, data, impressions, seed, **settings)
        for name in SAME:
            np.testing.assert_array_equal(getattr(run, name), getattr(here, name), err_msg=f"{name} of {run}")
        np.testing.assert_array_equal(run.query_values, here.query_values)
        np.testing.assert_allclose(run.variance_curve, here.variance_curve, rtol=1e-11, atol=1e-15)
        assert run.settings == here.settings
        assert run.manifest["engine"]["name"] == "gpu"


def test_without_a_device_it_says_so(monkeypatch):
    monkeypatch.setattr("rankloop.gpu.running.why_no_device", lambda: "there is no CUDA device on this machine")
    with pytest.raises(SettingsError, match="no CUDA device"):
        simulate_on_device(requests([rl.ROLTR()], [rl.users.noisy()], [1]))


@pytest.mark.gpu
def test_what_has_no_device_code_is_refused(device):
    with pytest.raises(SettingsError, match="PLRank has no device code"):
        simulate_on_device(requests([rl.PLRank()], [rl.users.noisy()], [1]))


@pytest.mark.gpu
@pytest.mark.parametrize(
    "learners", [*REINFORCED, *GRADED, *PAIRED, *BELIEVED, *DUELS, *MULTILEAVED, *COUNTERFACTUAL], ids=str
)
def test_whole_runs_have_the_bits_of_the_cpu(device, learners):
    asked = requests(learners, [rl.users.noisy()], [1, 2, 2**63 + 5], evaluate_every=250)
    assert_equal_runs(asked, simulate_on_device(asked))


@pytest.mark.gpu
def test_all_people_click_as_they_do_on_the_cpu(device):
    asked = requests([rl.ROLTR(), rl.PDGD(), rl.Posterior(), rl.DBGD(), rl.PMGD(), rl.COLTR()], PEOPLE.values(), [1, 2])
    assert_equal_runs(asked, simulate_on_device(asked))


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [*SHAPES, EVEN], ids=str)
def test_runs_that_share_a_block_do_not_touch_each_other(device, monkeypatch, shape):
    monkeypatch.setattr("rankloop.gpu.batch.shape_for", lambda *_, **__: shape)
    learners = [rl.ROLTR(learning_rate=rate) for rate in (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5)]
    asked = requests(learners, [rl.users.noisy()], [1, 7], gradient_variance=True, metrics=["ndcg", "err", "map"])
    assert_equal_runs(asked, simulate_on_device(asked))


@pytest.mark.gpu
@pytest.mark.parametrize("data", [None, mslr_shaped(64)], ids=["tiny", "MSLR's shape"])
def test_a_posterior_whose_factor_is_not_in_shared_memory(device, monkeypatch, data):
    def without(*given):
        return posterior_shape(*given)._replace(root_shared=False)

    monkeypatch.setattr("rankloop.gpu.batch.posterior_shape", without)
    learners = [rl.Posterior(), rl.Posterior(half_life=40.0, memory=100)]
    asked = requests(learners, [rl.users.noisy()], [1, 7], data=data)
    assert_equal_runs(asked, simulate_on_device(asked))


@pytest.mark.gpu
@pytest.mark.parametrize("shaped", [{"at_once": 16}, {"ordered": 0}, {"blocks": 1}], ids=str)
def test_rivals_drawn_some_after_others_and_orders_in_the_devices_memory(device, monkeypatch, shaped):
    for planned in (comparison_shape, counterfactual_shape):

        def otherwise(*given, planned=planned):
            return planned(*given)._replace(**shaped)

        monkeypatch.setattr(f"rankloop.gpu.batch.{planned.__name__}", otherwise)
    learners = [rl.PMGD(), rl.PMGD(delta=0.3), rl.COLTR(candidates=49)]
    asked = requests(learners, [rl.users.noisy()], [1, 7])
    assert_equal_runs(asked, simulate_on_device(asked))


@pytest.mark.gpu
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_setting_of_a_simulation(device, settings):
    asked = requests(METHODS, [rl.users.noisy()], [3], **settings)
    assert_equal_runs(asked, simulate_on_device(asked))


@pytest.mark.gpu
@pytest.mark.parametrize("learner", METHODS, ids=str)
def test_long_lists_with_features_like_those_of_a_real_collection(device, learner):
    asked = requests([learner], [rl.users.noisy()], [1, 2], impressions=300, data=mslr_shaped(64), evaluate_every=150)
    assert_equal_runs(asked, simulate_on_device(asked))


@pytest.mark.gpu
@pytest.mark.parametrize(
    "learner", [rl.ROLTR(), rl.Posterior(), rl.Posterior(half_life=40.0), rl.DBGD(), rl.PMGD(), rl.COLTR()], ids=str
)
def test_given_weights_are_where_a_run_begins(device, learner):
    weights = np.linspace(-1, 1, rl.load("tiny").features)
    asked = requests([learner], [rl.users.noisy()], [3], weights=weights)
    assert_equal_runs(asked, simulate_on_device(asked))


@pytest.mark.gpu
def test_a_run_that_diverges_does_not_take_the_others_with_it(device):
    asked = requests([rl.ROLTR(), rl.ROLTR(learning_rate=1e38)], [rl.users.noisy()], [1])
    fine, broken = outcomes_on_device(asked)
    assert_equal_runs(asked[:1], [fine])
    assert isinstance(broken, DivergenceError)
    with pytest.raises(DivergenceError):
        simulate_on_device(asked)


@pytest.mark.gpu
def test_batches_that_do_not_fit_at_once_give_the_same_runs(device, monkeypatch):
    monkeypatch.setattr("rankloop.gpu.running._MOST_VALUES", 20_000)
    done = []
    learners = [rl.ROLTR(), rl.PDGD(), rl.Posterior(), rl.DBGD(), rl.PMGD(), rl.COLTR()]
    asked = requests(learners, [rl.users.noisy(), rl.users.perfect()], [1, 2, 3])
    assert_equal_runs(asked, simulate_on_device(asked, done.append))
    assert done == sorted(done)
    assert done[-1] == 600 * len(asked)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "learner", [rl.ROLTR(), rl.PDGD(), rl.Posterior(), rl.DBGD(), rl.PMGD(), rl.COLTR()], ids=lambda one: one.name
)
def test_means_over_500_seeds_are_those_of_the_cpu(device, learner):
    """Not within an error: they are the same numbers. Seeds 1, 101 … are compared run by run."""
    asked = requests([learner], [rl.users.noisy()], range(1, 501), impressions=300, evaluate_every=300)
    found = simulate_on_device(asked)
    here = [rl.simulate(*one[:5], **one.settings) for one in asked[::5]]
    assert [run.online_ndcg for run in found[::5]] == [run.online_ndcg for run in here]
    assert [run.offline_ndcg for run in found[::5]] == [run.offline_ndcg for run in here]


def test_there_is_a_sentence_or_a_device():
    reason = why_no_device()
    assert reason is None or len(reason) > 20
