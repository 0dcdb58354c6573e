"""Triangular factors of symmetric matrices: information that only grows, kept as its square root.

A precision matrix Λ = UᵀU is kept as the upper triangle U (dimensions, padded columns; zero left of the diagonal and in
the padding). Adding Σ a aᵀ is a sequence of reflections of the rows [U; a], which loses nothing to cancellation, so
the sum stays symmetric and positive definite whatever is added and however often. Sums run in eight fixed lanes, so
the bits do not depend on where a kernel was inlined.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from rankloop.kernels.arithmetic import tree_sum
from rankloop.kernels.compiler import kernel

WIDTH = 8
"""Lanes of float64."""
MANY, FEW = 10, 3
"""How many rows are folded into the factor at once: a page of ten has as many, a small one needs no more than three."""
_SMALL = 1e-290
_ROUNDING = 1e-13
_LANES = ir.VectorType(ir.DoubleType(), WIDTH)
_I64 = ir.IntType(64)
_MATRIX, _VECTOR = types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")


def whole_lanes(n: int) -> int:
    """The next multiple of the lanes: how many columns a factor of so many dimensions has.

    >>> whole_lanes(145)
    152
    """
    return -(-n // WIDTH) * WIDTH


def rows_for(count: int) -> int:
    """How many rows a matrix for `add_rows` must have to hold so many: whole groups, the rest of the last one zero.

    >>> [rows_for(count) for count in (1, 3, 4, 10, 11, 21)]
    [3, 3, 10, 10, 13, 23]
    """
    rest = count % MANY
    return count - rest + (0 if rest == 0 else FEW if rest <= FEW else MANY)


def _load(builder, address):
    value = builder.load(builder.bitcast(address, _LANES.as_pointer()))
    value.align = 8
    return value


def _store(builder, value, address):
    builder.store(value, builder.bitcast(address, _LANES.as_pointer())).align = 8


def _spread(builder, value):
    i32 = ir.IntType(32)
    undefined = ir.Constant(_LANES, ir.Undefined)
    first = builder.insert_element(undefined, value, i32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(i32, WIDTH), [0] * WIDTH))


def _fused(builder, a, b, c):
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_LANES, [_LANES] * 3), f"llvm.fma.v{WIDTH}f64"
    )
    return builder.call(function, [a, b, c])


def _row(builder, matrix, i):
    return builder.gep(matrix.data, [builder.mul(i, builder.extract_value(matrix.shape, 1))])


def _reflection(rows):
    """An intrinsic: columns of [U_j; A_first … A_{first+rows−1}] minus β v (vᵀ column), from column `start` on."""

    def reflect(_context, U, j, A, first, v, beta, start):
        def generate(context, builder, signature, args):
            U, A = (context.make_array(_MATRIX)(context, builder, args[place]) for place in (0, 2))
            v = context.make_array(_VECTOR)(context, builder, args[4])
            beta = _spread(builder, args[5])
            places = [_row(builder, U, args[1])]
            places += [_row(builder, A, builder.add(args[3], _I64(k))) for k in range(rows)]
            factors = [_spread(builder, builder.load(builder.gep(v.data, [_I64(k)]))) for k in range(rows + 1)]
            end = builder.extract_value(U.shape, 1)
            with cgutils.for_range_slice(builder, args[6], end, _I64(WIDTH), _I64) as (at, _):
                addresses = [builder.gep(place, [at]) for place in places]
                columns = [_load(builder, address) for address in addresses]
                total = builder.fmul(factors[0], columns[0])
                for factor, column in zip(factors[1:], columns[1:], strict=True):
                    total = _fused(builder, factor, column, total)
                total = builder.fneg(builder.fmul(beta, total))
                for factor, column, address in zip(factors, columns, addresses, strict=True):
                    _store(builder, _fused(builder, factor, total, column), address)
            return context.get_dummy_value()

        index, number = types.int64, types.float64
        return types.void(_MATRIX, index, _MATRIX, index, _VECTOR, number, index), generate

    return intrinsic(reflect)


_reflect_many, _reflect_few = _reflection(MANY), _reflection(FEW)


@intrinsic
def row_dot(_context, A, i, y, start):
    """Σ_m A_im y_m from column `start` (a multiple of the lanes) on, in eight lanes and then as a tree."""

    def generate(context, builder, signature, args):
        A = context.make_array(_MATRIX)(context, builder, args[0])
        y = context.make_array(_VECTOR)(context, builder, args[2])
        row = _row(builder, A, args[1])
        total = cgutils.alloca_once_value(builder, ir.Constant(_LANES, [0.0] * WIDTH))
        end = builder.extract_value(A.shape, 1)
        with cgutils.for_range_slice(builder, args[3], end, _I64(WIDTH), _I64) as (at, _):
            a, b = (_load(builder, builder.gep(vector, [at])) for vector in (row, y.data))
            builder.store(_fused(builder, a, b, builder.load(total)), total)
        return tree_sum(builder, builder.load(total))

    return types.float64(_MATRIX, types.int64, _VECTOR, types.int64), generate


@kernel
def add_rows(U, A, count, v):
    """UᵀU ← UᵀU + AᵀA for the first `count` rows of A, which are used up; rows after them, to whole groups, are 0.

    One Householder reflection per dimension and group takes the group's entries in that column to zero. The
    reflection's own sum u − ‖(u, a)‖ is written as −‖a‖²/(u + ‖(u, a)‖), so that nothing cancels and the diagonal
    stays positive. `v` is scratch for eleven numbers.
    """
    first = 0
    while first < count:
        rows = FEW if count - first <= FEW else MANY
        for j in range(U.shape[0]):
            squares = 0.0
            for k in range(rows):
                a = A[first + k, j]
                v[k + 1] = a
                squares += a * a
            if squares < _SMALL:
                continue
            diagonal = U[j, j]
            length = math.sqrt(diagonal * diagonal + squares)
            v[0] = -squares / (diagonal + length)
            beta = (diagonal + length) / (length * squares)  # 2/‖v‖²
            start = j - j % WIDTH
            if rows == MANY:
                _reflect_many(U, j, A, first, v, beta, start)
            else:
                _reflect_few(U, j, A, first, v, beta, start)
            U[j, j] = length
            for k in range(rows):
                A[first + k, j] = 0.0
        first += rows


@kernel
def solve_lower(U, y):
    """y ← U⁻ᵀ y, in place; `y` is as long as a row of U."""
    for i in range(U.shape[0]):
        value = y[i] / U[i, i]
        y[i] = value
        for m in range(i + 1, U.shape[1]):
            y[m] -= value * U[i, m]


@kernel
def solve_upper(U, y, first):
    """y ← U⁻¹ y, in place, from dimension `first` on: a draw of the last dimensions alone needs no others."""
    for i in range(U.shape[0] - 1, first - 1, -1):
        value = y[i]
        y[i] = 0.0
        y[i] = (value - row_dot(U, i, y, i - i % WIDTH)) / U[i, i]


@kernel
def invert(U, first, V):
    """The upper triangle of V = U⁻¹, from dimension `first` on; row by row from the last, each a sum of those below.

    The squares of a row sum to the variance of its dimension under the precision UᵀU.
    """
    size, columns = U.shape
    for i in range(size - 1, first - 1, -1):
        pivot = 1.0 / U[i, i]
        for m in range(i, columns):
            V[i, m] = 0.0
        V[i, i] = pivot
        for k in range(i + 1, size):
            factor = pivot * U[i, k]
            if factor != 0.0:
                for m in range(k, columns):
                    V[i, m] -= factor * V[k, m]


@kernel
def _add_rows_above(U, i, count, sign, out):
    """out_m ← out_m ± Σ_{j < count} U_ji U_jm for m ≥ i, four rows at a time: each is read once for four products."""
    columns = U.shape[1]
    whole = count - count % 4
    for j in range(0, whole, 4):
        a, b = sign * U[j, i], sign * U[j + 1, i]
        c, d = sign * U[j + 2, i], sign * U[j + 3, i]
        for m in range(i, columns):
            out[m] += (a * U[j, m] + b * U[j + 1, m]) + (c * U[j + 2, m] + d * U[j + 3, m])
    for j in range(whole, count):
        a = sign * U[j, i]
        for m in range(i, columns):
            out[m] += a * U[j, m]


@kernel
def square(U, M):
    """The upper triangle of M = UᵀU; what lies left of the diagonal is left as it is."""
    for i in range(U.shape[0]):
        for m in range(i, U.shape[1]):
            M[i, m] = 0.0
        _add_rows_above(U, i, i + 1, 1.0, M[i])


@kernel
def factorise(M, U):
    """U with UᵀU = M (Cholesky, row by row), from M's upper triangle, which is used up.

    Where rounding has left a pivot no larger than its error, the pivot is raised to that error: the matrix stays
    positive definite, and the direction as good as unknown.
    """
    for i in range(U.shape[0]):
        least = _ROUNDING * M[i, i]
        _add_rows_above(U, i, i, -1.0, M[i])
        pivot = math.sqrt(max(M[i, i], least))
        for m in range(i):
            U[i, m] = 0.0
        U[i, i] = pivot
        for m in range(i + 1, U.shape[1]):
            U[i, m] = M[i, m] / pivot


@kernel
def times_symmetric(M, x, out):
    """out ← M x, from M's upper triangle."""
    size = M.shape[0]
    for i in range(size):
        out[i] = M[i, i] * x[i]
    for i in range(size):
        total = 0.0
        own = x[i]
        for m in range(i + 1, size):
            total += M[i, m] * x[m]
            out[m] += M[i, m] * own
        out[i] += total


def covariance(U: NDArray[np.float64]) -> NDArray[np.float64]:
    """(UᵀU)⁻¹, for those who look at it: kernels never need it."""
    inverse = np.linalg.inv(U[:, : len(U)])
    return np.asarray(inverse @ inverse.T)
