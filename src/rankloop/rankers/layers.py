"""The compiled layers of a network: forward for scores, backward for the gradient, a block of documents at a time.

A network's weights are flat: for each hidden layer its matrix (inputs, units) and, as one row more, its biases; then
the output's weights, one per unit of the last hidden layer. *Packed*, every row is filled up with zeros to whole lanes,
as the products of `rankloop.kernels.matrix` want it; where all layers consist of whole lanes the two are the same.

`hidden` is a tuple of `MOST_LAYERS` sizes, 0 for a layer that is not there: one compilation serves every network.
"""

import numpy as np

from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import dot, fma32, tanh32
from rankloop.kernels.matrix import multiply_into, multiply_transposed_into, padded

MOST_LAYERS = 4
ROWS = 32
"""Documents in a block: their features, and what becomes of them layer by layer, stay in the nearest cache."""

in_lanes = kernel(padded)


@kernel
def packed_size(features, hidden):
    """How long the packed weights are."""
    size, inputs = 0, features
    for units in hidden:
        if units > 0:
            size += (inputs + 1) * in_lanes(units)
            inputs = units
    return size + in_lanes(inputs)


@kernel
def state_size(hidden):
    """How much room a block of documents needs, all its hidden layers together."""
    size = 0
    for units in hidden:
        size += ROWS * in_lanes(units)
    return size


@kernel
def pack(flat, features, hidden, packed):
    """Fill `packed` with the flat weights, every row in whole lanes."""
    packed[:] = 0.0
    at, to, inputs = 0, 0, features
    for units in hidden:
        if units > 0:
            for _ in range(inputs + 1):
                packed[to : to + units] = flat[at : at + units]
                at, to = at + units, to + in_lanes(units)
            inputs = units
    packed[to : to + inputs] = flat[at : at + inputs]


@kernel
def unpack(packed, features, hidden, flat):
    """The way back: without what fills the rows."""
    at, to, inputs = 0, 0, features
    for units in hidden:
        if units > 0:
            for _ in range(inputs + 1):
                flat[at : at + units] = packed[to : to + units]
                at, to = at + units, to + in_lanes(units)
            inputs = units
    flat[at : at + inputs] = packed[to : to + inputs]


@kernel
def packed_weights(flat, features, hidden):
    """The weights packed: the very array if nothing has to be filled up."""
    size = packed_size(features, hidden)
    if size == flat.size:
        return flat
    packed = np.empty(size, np.float32)
    pack(flat, features, hidden, packed)
    return packed


@kernel
def layer(features, hidden, which):
    """Of one hidden layer: its inputs, units and lanes, and where its weights and its states begin."""
    at, to, inputs = 0, 0, features
    for below in range(which):
        lanes = in_lanes(hidden[below])
        at, to, inputs = at + (inputs + 1) * lanes, to + ROWS * lanes, hidden[below]
    return inputs, hidden[which], in_lanes(hidden[which]), at, to


@kernel
def score_blocks(packed, hidden, tanh, X, states, scores):
    """The score of every row of X: what its last hidden layer weighs."""
    for begin in range(0, X.shape[0], ROWS):
        rows = X[begin : begin + ROWS]
        last = forward(packed, hidden, tanh, rows, states)
        output = packed[packed.size - last.shape[1] :]
        for i in range(rows.shape[0]):
            scores[begin + i] = dot(last[i], output)


@kernel
def forward(packed, hidden, tanh, X, states):
    """Fill `states` with every hidden layer of a block; the last of them."""
    below = X
    for which in range(MOST_LAYERS):
        if hidden[which] > 0:
            inputs, _, lanes, at, to = layer(X.shape[1], hidden, which)
            bias = packed[at + inputs * lanes : at + (inputs + 1) * lanes]
            state = states[to : to + X.shape[0] * lanes].reshape((X.shape[0], lanes))
            for i in range(X.shape[0]):
                state[i] = bias
            multiply_into(below, packed[at : at + inputs * lanes].reshape((inputs, lanes)), state)
            activate(state.reshape(-1), tanh)
            below = state
    return below


@kernel
def activate(values, tanh):
    """tanh, or what is not negative; a NaN stays one."""
    if tanh:
        for k in range(values.size):
            values[k] = tanh32(values[k])
    else:
        for k in range(values.size):
            values[k] = np.float32(0.0) if values[k] <= np.float32(0.0) else values[k]


@kernel
def backward(packed, hidden, tanh, X, score_gradient, states, errors, gradient):
    """Add to the packed `gradient` what a block's score gradient implies, given the states that `forward` left.

    `errors` is scratch, as long as `states`: the derivative with respect to what each unit sums up.
    """
    n = X.shape[0]
    depth = 0
    for units in hidden:
        depth += units > 0
    for which in range(depth - 1, -1, -1):
        inputs, units, lanes, at, to = layer(X.shape[1], hidden, which)
        state = states[to : to + n * lanes].reshape((n, lanes))
        error = errors[to : to + n * lanes].reshape((n, lanes))
        if which == depth - 1:
            through_output(packed[packed.size - lanes :], state, score_gradient, error, gradient[packed.size - lanes :])
        through_activation(state.reshape(-1), error.reshape(-1), tanh)
        add_rows(error, gradient[at + inputs * lanes : at + (inputs + 1) * lanes])
        slope = gradient[at : at + inputs * lanes].reshape((inputs, lanes))
        if which == 0:
            multiply_transposed_into(X, error, slope)
        else:
            _, _, lanes_below, _, begin = layer(X.shape[1], hidden, which - 1)
            multiply_transposed_into(states[begin : begin + n * lanes_below].reshape((n, lanes_below)), error, slope)
            error_below = errors[begin : begin + n * lanes_below].reshape((n, lanes_below))
            turned = np.zeros((units, lanes_below), np.float32)
            turn(packed[at : at + inputs * lanes].reshape((inputs, lanes)), turned)
            error_below[:] = np.float32(0.0)
            multiply_into(error, turned, error_below)


@kernel
def through_output(output, state, score_gradient, error, slope):
    """From the scores to the last hidden layer, and the gradient of the output's weights."""
    for i in range(state.shape[0]):
        h, e, g = state[i], error[i], score_gradient[i]
        for c in range(output.size):
            slope[c] = fma32(g, h[c], slope[c])
            e[c] = g * output[c]


@kernel
def through_activation(state, error, tanh):
    """From what a unit gives to what it sums up."""
    if tanh:
        for k in range(state.size):
            error[k] *= np.float32(1.0) - state[k] * state[k]
    else:
        for k in range(state.size):
            error[k] = error[k] if state[k] > np.float32(0.0) else np.float32(0.0)


@kernel
def add_rows(rows, total):
    """total += the sum of all rows."""
    for i in range(rows.shape[0]):
        row = rows[i]
        for c in range(total.size):
            total[c] += row[c]


@kernel
def turn(matrix, turned):
    """The transpose of a matrix, without what fills its rows."""
    for j in range(matrix.shape[0]):
        for c in range(turned.shape[0]):
            turned[c, j] = matrix[j, c]
