"""Borrowed arrays are the caller's own, and nobody counts references to them."""

import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from rankloop.kernels.borrowing import borrowed


class Inner(NamedTuple):
    weights: NDArray[np.float64]
    rate: float


class Outer(NamedTuple):
    inner: Inner
    pages: NDArray[np.int64]
    pair: tuple[NDArray[np.float64], NDArray[np.float64]]


def outer():
    return Outer(Inner(np.zeros(3), 0.5), np.zeros(2, np.int64), (np.zeros(2), np.ones(2)))


@njit
def _step(model):
    model.inner.weights[1] += model.inner.rate
    model.pages[0] += 1
    model.pair[1][0] -= 1.0


@njit
def _steps(model, count):
    model = borrowed(model)
    for _ in range(count):
        _step(model)


@pytest.mark.thorough
def test_what_is_written_to_a_borrowed_array_is_written_to_the_callers():
    model = outer()
    _steps(model, 4)
    assert model.inner.weights.tolist() == [0.0, 2.0, 0.0]
    assert model.pages.tolist() == [4, 0]
    assert model.pair[1].tolist() == [-3.0, 1.0]


def test_the_caller_s_references_are_as_many_as_before():
    model = outer()
    arrays = (model.inner.weights, model.pages, *model.pair)
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(5):
        _steps(model, 3)
    assert [sys.getrefcount(array) for array in arrays] == before
