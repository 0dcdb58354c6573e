"""A multilayer perceptron: f(x) = u · h_L, h_l = a(W_lᵀ h_{l−1} + b_l), h_0 = x, with ReLU or tanh for a.

The output has no bias: a constant is the same for every document, and no page depends on it. Weights are kept in
float64 and rounded once per update, as the linear ranker's are. `layers` has the compiled part.

A network of zeros would never learn: all its hidden units are alike, and none of them matters. So the hidden layers are
drawn, and a learner's `initial` says how the output's weights begin; with `zeros` all scores are 0, and the first
pages are as random as those of a linear ranker.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.kernels.draws import INITIAL, fill_normals, stream_key
from rankloop.rankers.contract import Ranker, ascend, score, score_several
from rankloop.rankers.layers import (
    MOST_LAYERS,
    ROWS,
    backward,
    forward,
    pack,
    packed_size,
    packed_weights,
    score_blocks,
    state_size,
    unpack,
)
from rankloop.rankers.linear import starting_weights, take_step
from rankloop.settings import Rule, choice, is_whole

ACTIVATIONS = ("relu", "tanh")
MOST_UNITS = 4096
MOST_SERVED = 250_000
"""Weights that a service may have to keep, describe and roll back to."""


def _require_hidden(owner: str, name: str, sizes: Any) -> tuple[int, ...]:
    listed = isinstance(sizes, Sequence) and not isinstance(sizes, (str, bytes))
    if not (
        listed
        and 1 <= len(sizes) <= MOST_LAYERS
        and all(is_whole(units) and 1 <= units <= MOST_UNITS for units in sizes)
    ):
        raise SettingsError(
            f"{owner}: {name} must be the sizes of 1 to {MOST_LAYERS} hidden layers, each from 1 to {MOST_UNITS}, such "
            f"as (64,) or (64, 32); got {sizes!r}"
        )
    return tuple(int(units) for units in sizes)


class MLP(Ranker, frozen=True):
    """A neural network: what a linear ranker cannot follow, such as features that count only together.

    Attributes:
        hidden: the sizes of its hidden layers, one to four of them. Multiples of 16 are fastest.
        activation: `relu` or `tanh`.

    >>> MLP(hidden=(64, 32)).count(features=136)
    10880
    """

    hidden: Annotated[tuple[int, ...], Rule(_require_hidden)] = (64,)
    activation: Annotated[str, choice(ACTIVATIONS)] = "relu"

    def count(self, features: int) -> int:
        """How many weights it has on so many features."""
        return sum((inputs + 1) * units for inputs, units in self._sizes(features)) + self.hidden[-1]

    def features_of(self, count: int) -> int | None:
        """How many features a network with so many weights has; None if there is none."""
        features, rest = divmod(count - self.count(0), self.hidden[0])
        return features if rest == 0 and features > 0 else None

    def layers(self, weights: ArrayLike, features: int) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """(inputs, units) weights and (units,) biases of every layer; the last is the output, whose bias is 0."""
        flat, at = np.asarray(weights, dtype=np.float64), 0
        parts = []
        for inputs, units in self._sizes(features):
            block = flat[at : at + (inputs + 1) * units].reshape(inputs + 1, units)
            parts.append((block[:-1], block[-1]))
            at += block.size
        return [*parts, (flat[at:].reshape(-1, 1), np.zeros(1))]

    def scores(self, weights: ArrayLike, X: ArrayLike) -> NDArray[np.float64]:
        """(candidates,), in double precision: the definition that kernels and exports are held to."""
        values = np.asarray(X, dtype=np.float64)
        *hidden, (output, _) = self.layers(weights, values.shape[1])
        for W, b in hidden:
            values = values @ W + b
            values = np.tanh(values) if self.activation == "tanh" else np.maximum(values, 0.0)
        return np.asarray((values @ output)[:, 0])

    def weight_names(self, features: Sequence[str]) -> list[str]:
        """What each weight joins: `price → 1.3` leads from a feature to the third unit of the first hidden layer.

        >>> MLP(hidden=(1,)).weight_names(["price"])
        ['price → 1.1', 'bias → 1.1', '1.1 → score']
        """
        names, below = [], list(features)
        for number, units in enumerate(self.hidden, 1):
            own = [f"{number}.{unit + 1}" for unit in range(units)]
            names += [f"{source} → {unit}" for source in (*below, "bias") for unit in own]
            below = own
        return names + [f"{unit} → score" for unit in below]

    def parameters(self, initial: str, features: int, seed: int, weights: ArrayLike | None = None) -> "MLPWeights":
        """The weights that a learner begins with: given ones, or drawn hidden layers and outputs by the rule named
        `initial`."""
        values = self._started(initial, features, seed) if weights is None else self._given(weights, features)
        return MLPWeights(values, values.astype(np.float32), self._padded_hidden(), self.activation == "tanh")

    def several(self, weights: NDArray[np.float64], features: int) -> "MLPTable":
        """Many networks of this shape, one per row."""
        flat = weights.astype(np.float32)
        if flat.shape[1] != self.count(features) or not np.isfinite(flat).all():
            raise SettingsError(
                f"weights of {self} must be finite, {self.count(features)} for {features} features; "
                f"got shape {weights.shape}"
            )
        hidden = self._padded_hidden()
        table = np.zeros((len(flat), packed_size(features, hidden)), np.float32)
        for row, own in zip(table, flat, strict=True):
            pack(own, features, hidden, row)
        return MLPTable(table, hidden, self.activation == "tanh")

    def require_affordable(self, features: int) -> None:
        """Refuse more weights than a service can keep and describe."""
        if self.count(features) > MOST_SERVED:
            raise SettingsError(
                f"{self} has {self.count(features):,} weights on {features:,} features; "
                f"a service takes at most {MOST_SERVED:,}"
            )

    def _sizes(self, features: int) -> Iterator[tuple[int, int]]:
        return zip((features, *self.hidden[:-1]), self.hidden, strict=True)

    def _padded_hidden(self) -> tuple[int, ...]:
        return self.hidden + (0,) * (MOST_LAYERS - len(self.hidden))

    def _given(self, weights: ArrayLike, features: int) -> NDArray[np.float64]:
        given = np.array(weights, dtype=np.float64)
        if given.shape != (self.count(features),) or not np.isfinite(given).all():
            shape = f"shape {given.shape}" if np.isfinite(given).all() else "a value that is not finite"
            raise SettingsError(
                f"weights of {self} must be {self.count(features)} finite numbers for {features} features; got {shape}"
            )
        return given

    def _started(self, initial: str, features: int, seed: int) -> NDArray[np.float64]:
        """Hidden weights are normal, with a variance that keeps the size of what passes through (2/inputs for ReLU,
        which halves it, 1/inputs for tanh); biases are 0."""
        parts = []
        for number, (inputs, units) in enumerate(self._sizes(features), 1):
            normals = np.empty(inputs * units, np.float32)
            fill_normals(np.uint64(stream_key(np.uint64(seed), INITIAL, number)), normals)
            spread = math.sqrt((2.0 if self.activation == "relu" else 1.0) / inputs)
            parts += [spread * normals.astype(np.float64), np.zeros(units)]
        return np.concatenate([*parts, starting_weights(initial, self.hidden[-1], seed)])


class MLPWeights(NamedTuple):
    """Flat weights, the same rounded for scoring, and the shape of the network."""

    weights: NDArray[np.float64]
    rounded: NDArray[np.float32]
    hidden: tuple[int, ...]
    tanh: bool


class MLPTable(NamedTuple):
    """(networks, weights) packed, and the shape of them all."""

    table: NDArray[np.float32]
    hidden: tuple[int, ...]
    tanh: bool


@implements(score, MLPWeights)
@kernel
def score_mlp(ranker, X, scores):
    """Forward, block by block."""
    packed = packed_weights(ranker.rounded, X.shape[1], ranker.hidden)
    states = np.empty(state_size(ranker.hidden), np.float32)
    score_blocks(packed, ranker.hidden, ranker.tanh, X, states, scores)


@implements(score_several, MLPTable)
@kernel
def score_mlp_table(rankers, X, scores):
    """One network after the other, over rows that stay in the cache."""
    states = np.empty(state_size(rankers.hidden), np.float32)
    for r in range(rankers.table.shape[0]):
        score_blocks(rankers.table[r], rankers.hidden, rankers.tanh, X, states, scores[:, r])


@implements(ascend, MLPWeights)
@kernel
def ascend_mlp(ranker, X, score_gradient, step, slope):
    """Back-propagation over the documents whose score gradient is not 0, then one step of all weights at once."""
    features, hidden = X.shape[1], ranker.hidden
    packed = packed_weights(ranker.rounded, features, hidden)
    gradient = np.zeros(packed.size, np.float32)
    states, errors = np.empty(state_size(hidden), np.float32), np.empty(state_size(hidden), np.float32)
    rows, shares = np.empty((ROWS, features), np.float32), np.empty(ROWS, np.float32)
    at = 0
    while at < X.shape[0]:
        filled, begin = 0, at
        while at < X.shape[0] and filled < ROWS:
            share = np.float32(score_gradient[at])
            if share != 0:
                shares[filled] = share
                filled += 1
            at += 1
        block = X[begin:at]
        if filled < at - begin:
            block = rows[:filled]
            filled = 0
            for i in range(begin, at):
                if np.float32(score_gradient[i]) != 0:
                    block[filled] = X[i]
                    filled += 1
        if filled > 0:
            forward(packed, hidden, ranker.tanh, block, states)
            backward(packed, hidden, ranker.tanh, block, shares, states, errors, gradient)
    if packed.size == ranker.weights.size:
        take_step(ranker, gradient, step)
    else:
        direction = np.empty(ranker.weights.size, np.float32)
        unpack(gradient, features, hidden, direction)
        take_step(ranker, direction, step)
