"""Search directions: unit vectors, uniform on the sphere, the same whenever they are drawn again."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.kernels.matrix import padded
from rankloop.learners.directions import draw_direction, draw_directions, mean_of_winners, require_few_rivals

SEED = np.uint64(5)


def directions(impression: int, features: int = 7, rivals: int = 20, length: float = 1.0) -> np.ndarray:
    width = padded(rivals + 1)
    U = np.zeros((features, width), np.float32)
    draw_directions(SEED, impression, length, np.zeros(width, np.float32), U)
    return U


@pytest.mark.parametrize("length", [1.0, 0.3, 5.0])
def test_every_direction_has_the_length_asked_for_and_the_current_ranker_does_not_move(length):
    lengths = np.linalg.norm(directions(3, length=length).astype(float), axis=0)
    assert lengths[0] == 0.0
    assert lengths[1:] == pytest.approx(length, rel=1e-6)
    u = np.zeros(7, np.float32)
    draw_direction(SEED, 3, length, u)
    assert np.linalg.norm(u.astype(float)) == pytest.approx(length, rel=1e-6)


def test_directions_are_drawn_again_to_the_bit_and_differ_between_impressions():
    assert directions(3).tobytes() == directions(3).tobytes()
    assert not (directions(3) == directions(4))[:, 1:].any()


def test_directions_have_no_preference():
    """Each coordinate has mean 0 and mean square 1/F; 4.9 standard errors are exceeded once in a million trials."""
    U = np.hstack([directions(i)[:, 1:21] for i in range(500)]).astype(float)
    features, draws = U.shape
    assert np.abs(U.mean(axis=1)).max() < 4.9 / np.sqrt(features * draws)
    assert np.abs((U**2).mean(axis=1) - 1 / features).max() < 4.9 * np.sqrt(2) / features / np.sqrt(draws)


def test_winners_are_averaged_and_counted():
    U, wins = directions(1), np.zeros(padded(21), np.float32)
    mean = np.full(7, 9.0, np.float32)
    assert mean_of_winners(U, wins, mean) == 0
    assert mean.tolist() == [9.0] * 7  # nobody won: nothing is written
    wins[[2, 5, 11]] = 1.0
    assert mean_of_winners(U, wins, mean) == 3
    assert mean == pytest.approx(U[:, [2, 5, 11]].mean(axis=1), rel=1e-5, abs=1e-7)


def test_more_rivals_than_a_service_can_hold_are_refused():
    require_few_rivals("PMGD", 1_000, 1_000, features=100, page_size=10)
    with pytest.raises(SettingsError, match="PMGD: candidates must be at most 1,000; got 1,001"):
        require_few_rivals("PMGD", 1_001, 1_000, features=100, page_size=10)
    for shape in ({"features": 6_001, "page_size": 10}, {"features": 10, "page_size": 6_001}):
        with pytest.raises(SettingsError, match="999 candidates are too many"):
            require_few_rivals("PMGD", 999, 1_000, **shape)
