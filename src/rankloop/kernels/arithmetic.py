"""Arithmetic that the compiler turns into vector instructions, with the same bits everywhere.

A compiler may reorder a sum only under `fastmath`, and then the result depends on where the loop was
inlined and how long it is. Here the order is written down instead: `dot` sums in sixteen fixed lanes,
and `exp` and `log` are branch-free polynomials, which vectorise in any loop that calls them.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rankloop.kernels.compiler import kernel

LANES = 16
BLOCK = 32  # elements that a vectorised loop over float64 takes at once


def whole_blocks(n: int) -> int:
    """The next multiple of the block: how long a buffer must be so that loops over it have no slow tail.

    >>> whole_blocks(125)
    128
    """
    return -(-n // BLOCK) * BLOCK


LANE = ir.VectorType(ir.FloatType(), LANES)
_VECTOR = types.Array(types.float32, 1, "C")
_LN2_HI = 6.93147180369123816490e-01
_LN2_LO = 1.90821492927058770002e-10
_SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
_MANTISSA = np.int64(0x000FFFFFFFFFFFFF)
_ROUND = 1.5 * 2.0**52
_ROUND32 = np.float32(1.5 * 2.0**23)


@intrinsic
def fma32(_context, a, b, c):
    """a·b + c in float32, rounded once."""
    return types.float32(types.float32, types.float32, types.float32), _fma


@intrinsic
def fma64(_context, a, b, c):
    """a·b + c in float64, rounded once."""
    return types.float64(types.float64, types.float64, types.float64), _fma


def _fma(_context, builder, _signature, args):
    return builder.fma(*args)


@intrinsic
def as_int64(_context, x):
    """The bit pattern of a float64."""
    return types.int64(types.float64), _reinterpret


@intrinsic
def as_float64(_context, x):
    """The float64 with a given bit pattern."""
    return types.float64(types.int64), _reinterpret


@intrinsic
def as_int32(_context, x):
    """The bit pattern of a float32."""
    return types.int32(types.float32), _reinterpret


@intrinsic
def as_float32(_context, x):
    """The float32 with a given bit pattern."""
    return types.float32(types.uint32), _reinterpret


def _reinterpret(context, builder, signature, args):
    return builder.bitcast(args[0], context.get_value_type(signature.return_type))


@intrinsic
def dot(_context, x, w):
    """Σ x_j w_j of two contiguous float32 vectors, summed in sixteen lanes and then as a tree."""

    def generate(context, builder, signature, args):
        x, w = (
            context.make_array(kind)(context, builder, value) for kind, value in zip(signature.args, args, strict=True)
        )
        return _dot_in_lanes(builder, x.data, w.data, builder.extract_value(x.shape, 0))

    return types.float32(_VECTOR, _VECTOR), generate


@intrinsic
def add_four_rows(_context, X, i, a, b, c, d, total):
    """total ← total + a·X[i] + b·X[i+1] + c·X[i+2] + d·X[i+3]; `total` has room for whole lanes."""

    def generate(context, builder, signature, args):
        X, total = (context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 6))
        features = builder.extract_value(X.shape, 1)
        row = builder.gep(X.data, [builder.mul(args[1], features)])
        rows = [builder.gep(row, [builder.mul(features, ir.IntType(64)(k))]) for k in range(4)]
        factors = [broadcast(builder, factor) for factor in args[2:6]]

        def add(load, at):
            place = builder.bitcast(builder.gep(total.data, [at]), LANE.as_pointer())
            value = load_lanes(builder, place)
            for factor, row in zip(factors, rows, strict=True):
                value = fused(builder, factor, load(builder.gep(row, [at])), value)
            builder.store(value, place).align = 4

        _for_all_lanes(builder, features, add)
        return context.get_dummy_value()

    one, matrix, vector = types.float32, types.Array(types.float32, 2, "C"), _VECTOR
    return types.void(matrix, types.int64, one, one, one, one, vector), generate


def _dot_in_lanes(builder, x, w, n):
    total = cgutils.alloca_once_value(builder, ir.Constant(LANE, [0.0] * LANES))

    def accumulate(load, at):
        terms = [load(builder.gep(vector, [at])) for vector in (x, w)]
        builder.store(fused(builder, *terms, builder.load(total)), total)

    _for_all_lanes(builder, n, accumulate)
    return tree_sum(builder, builder.load(total))


def load_lanes(builder, address):
    """Sixteen floats from an address that need not be aligned."""
    value = builder.load(builder.bitcast(address, LANE.as_pointer()))
    value.align = 4
    return value


def fused(builder, a, b, c):
    """a·b + c in every lane, rounded once."""
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(LANE, [LANE] * 3), f"llvm.fma.v{LANES}f32"
    )
    return builder.call(function, [a, b, c])


def broadcast(builder, value):
    """One float in every lane."""
    i32 = ir.IntType(32)
    undefined = ir.Constant(LANE, ir.Undefined)
    first = builder.insert_element(undefined, value, i32(0))
    everywhere = ir.Constant(ir.VectorType(i32, LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, everywhere)


def _for_all_lanes(builder, n, step):
    """Call `step(load, at)` for each sixteen of n elements; the last load is masked if they do not fill it."""
    i64 = ir.IntType(64)
    whole = builder.and_(n, i64(-LANES))
    with cgutils.for_range_slice(builder, i64(0), whole, i64(LANES), i64) as (j, _):
        step(lambda address: load_lanes(builder, address), j)
    rest = builder.sub(n, whole)
    with builder.if_then(builder.icmp_signed(">", rest, i64(0))):
        step(_masked_loader(builder, rest), whole)


def _masked_loader(builder, count):
    """Load the first `count` lanes, zero in the others: the tail of a row takes one step too."""
    i32 = ir.IntType(32)
    zero = ir.Constant(LANE, [0.0] * LANES)
    numbers = ir.VectorType(i32, LANES)
    undefined = ir.Constant(numbers, ir.Undefined)
    first = builder.insert_element(undefined, builder.trunc(count, i32), i32(0))
    counts = builder.shuffle_vector(first, undefined, ir.Constant(numbers, [0] * LANES))
    mask = builder.icmp_signed("<", ir.Constant(numbers, list(range(LANES))), counts)
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(LANE, [LANE.as_pointer(), i32, mask.type, LANE]),
        f"llvm.masked.load.v{LANES}f32.p0",
    )

    def load(address):
        address = builder.bitcast(address, LANE.as_pointer())
        return builder.call(function, [address, i32(4), mask, zero])

    return load


def tree_sum(builder, lanes):
    """The sum of a vector's lanes, halves first."""
    width = lanes.type.count
    while width > 1:
        width //= 2
        index = ir.VectorType(ir.IntType(32), width)
        undefined = ir.Constant(lanes.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(lanes, undefined, ir.Constant(index, list(part)))
            for part in (range(width), range(width, 2 * width))
        )
        lanes = builder.fadd(low, high)
    return builder.extract_element(lanes, ir.IntType(32)(0))


@kernel
def exp(x):
    """e^x in float64, to about one unit in the last place; 0 below −708, e^709 above 709."""
    x = min(x, 709.0)
    shifted = fma64(x, 1.4426950408889634, _ROUND)
    k = shifted - _ROUND
    r = fma64(k, -_LN2_LO, fma64(k, -_LN2_HI, x))
    p = fma64(r, 1.6059043836821613e-10, 2.08767569878681e-09)
    p = fma64(r, p, 2.505210838544172e-08)
    p = fma64(r, p, 2.755731922398589e-07)
    p = fma64(r, p, 2.7557319223985893e-06)
    p = fma64(r, p, 2.48015873015873e-05)
    p = fma64(r, p, 1.984126984126984e-04)
    p = fma64(r, p, 1.388888888888889e-03)
    p = fma64(r, p, 8.333333333333333e-03)
    p = fma64(r, p, 4.1666666666666664e-02)
    p = fma64(r, p, 1.6666666666666666e-01)
    p = fma64(r, p, 0.5)
    p = fma64(r, p, 1.0)
    p = fma64(r, p, 1.0)
    power = as_float64((as_int64(shifted) + np.int64(1023)) << np.int64(52))
    return p * power if x > -708.0 else 0.0


@kernel
def log(x):
    """The natural logarithm of a positive normal float64, to about one unit in the last place."""
    offset = as_int64(x) - _SQRT_HALF_BITS
    k = np.float64(offset >> np.int64(52))
    f = as_float64((offset & _MANTISSA) + _SQRT_HALF_BITS) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = fma64(z, 1.479819860511658591e-01, 1.531383769920937332e-01)
    p = fma64(z, p, 1.818357216161805012e-01)
    p = fma64(z, p, 2.222219843214978396e-01)
    p = fma64(z, p, 2.857142874366239149e-01)
    p = fma64(z, p, 3.999999999940941908e-01)
    p = fma64(z, p, 6.666666666666735130e-01)
    half_square = 0.5 * f * f
    return k * _LN2_HI - ((half_square - fma64(s, half_square + z * p, k * _LN2_LO)) - f)


@kernel
def exp32(x):
    """e^x in float32; 0 below −87, e^88 above 88."""
    x = min(x, np.float32(88.0))
    shifted = fma32(x, np.float32(1.44269504), _ROUND32)
    k = shifted - _ROUND32
    r = fma32(k, np.float32(-1.42860677e-06), fma32(k, np.float32(-0.693145752), x))
    p = fma32(r, np.float32(1.98412698e-04), np.float32(1.38888889e-03))
    p = fma32(r, p, np.float32(8.33333333e-03))
    p = fma32(r, p, np.float32(4.16666667e-02))
    p = fma32(r, p, np.float32(1.66666667e-01))
    p = fma32(r, p, np.float32(0.5))
    p = fma32(r, p, np.float32(1.0))
    p = fma32(r, p, np.float32(1.0))
    power = as_float32(np.uint32((as_int32(shifted) + np.int32(127)) << np.int32(23)))
    return p * power if x > np.float32(-87.0) else np.float32(0.0)


@kernel
def log32(x):
    """The natural logarithm of a positive normal float32."""
    offset = as_int32(x) - np.int32(0x3F3504F3)
    k = np.float32(offset >> np.int32(23))
    f = as_float32(np.uint32((offset & np.int32(0x007FFFFF)) + np.int32(0x3F3504F3)))
    f = f - np.float32(1.0)
    s = f / (np.float32(2.0) + f)
    z = s * s
    p = fma32(z, np.float32(0.24279078841), np.float32(0.28498786688))
    p = fma32(z, p, np.float32(0.40000972152))
    p = fma32(z, p, np.float32(0.66666662693))
    half_square = np.float32(0.5) * f * f
    tail = fma32(s, half_square + z * p, k * np.float32(9.0580006145e-06))
    return k * np.float32(6.9313812256e-01) - ((half_square - tail) - f)


@kernel
def tanh32(x):
    """The hyperbolic tangent in float32, to about one unit in the last place of 1."""
    e = exp32(np.float32(-2.0) * abs(x))
    t = (np.float32(1.0) - e) / (np.float32(1.0) + e)
    return -t if x < np.float32(0.0) else t
