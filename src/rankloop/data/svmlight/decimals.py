"""Decimal digits to float64, correctly rounded: the same bits as Python's `float`, inside a kernel.

w · 10^e with w < 2^53 and |e| ≤ 22 is one exact multiplication or division (Clinger, 1990).
Everything else takes one or two 64-bit products with a table of powers of five (Lemire, "Number
parsing at a gigabyte per second", 2021). The few inputs that this cannot decide are left to the
caller, who asks Python.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import as_float64

_LOWEST, _HIGHEST = -342, 308
_EXACT = np.uint64(2**53)
_TENS = 10.0 ** np.arange(23)
_ALL_ONES = np.uint64(2**64 - 1)
_NINE_BITS = np.uint64(0x1FF)
_ZERO, _ONE, _THREE = np.uint64(0), np.uint64(1), np.uint64(3)
_HIDDEN = np.uint64(2**52)


def _powers_of_five() -> NDArray[np.uint64]:
    """(651, 2): the upper 128 bits of 5^q for q = −342 … 308; reciprocals are rounded up."""
    table = np.empty((_HIGHEST - _LOWEST + 1, 2), np.uint64)
    for q in range(_LOWEST, _HIGHEST + 1):
        power = 5 ** abs(q)
        if q < 0:
            # Long enough for 128 leading bits of the quotient; for small powers exactly that.
            bits = power.bit_length() + 127 if q >= -27 else 2 * power.bit_length() + 128
            power = (1 << bits) // power + 1
        excess = power.bit_length() - 128
        power = power >> excess if excess > 0 else power << -excess
        table[q - _LOWEST] = power >> 64, power & (2**64 - 1)
    return table


_FIVES = _powers_of_five()


@intrinsic
def _upper_product(_context: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of the 128-bit product of two uint64."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(value, wide) for value in args))
        return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _leading_zeros(_context: Any, a: Any) -> Any:
    """How many zero bits stand before the first one of a uint64 that is not 0."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


@kernel
def to_float(w, exponent):
    """(w · 10^exponent rounded to float64, True), or (0, False) where Python must decide.

    `w` is a uint64, `exponent` an int64. Subnormal and infinite results are left to Python too.

    >>> to_float(np.uint64(17976931348623157), 292)
    (1.7976931348623157e+308, True)
    >>> to_float(np.uint64(1), 400)
    (0.0, False)
    """
    if w < _EXACT and -22 <= exponent <= 22:
        if exponent < 0:
            return np.float64(w) / _TENS[-exponent], True
        return np.float64(w) * _TENS[exponent], True
    if w == _ZERO:
        return 0.0, True
    if exponent < _LOWEST or exponent > _HIGHEST:
        return 0.0, False
    return _from_product(w, exponent)


@kernel
def _from_product(w, exponent):
    shift = _leading_zeros(w)
    w = w << shift
    row = exponent - _LOWEST
    high = _upper_product(w, _FIVES[row, 0])
    low = w * _FIVES[row, 0]
    if (high & _NINE_BITS) == _NINE_BITS:  # the cut-off part of the power may matter
        second = _upper_product(w, _FIVES[row, 1])
        low += second
        if second > low:
            high += _ONE
    if low == _ALL_ONES and (exponent < -27 or exponent > 55):
        return 0.0, False
    top = high >> np.uint64(63)
    drop = top + np.uint64(9)
    mantissa = high >> drop
    power = ((217706 * exponent) >> 16) + 63 + np.int64(top) - np.int64(shift) + 1023
    if power <= 0:
        return 0.0, False
    halfway = low <= _ONE and -4 <= exponent <= 23 and (mantissa & _THREE) == _ONE
    if halfway and (mantissa << drop) == high:
        mantissa -= _ONE  # exactly between two neighbours: to the even one
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa >= _HIDDEN << _ONE:
        mantissa = _HIDDEN
        power += 1
    if power >= 2047:
        return 0.0, False
    return as_float64((power << 52) | np.int64(mantissa - _HIDDEN)), True
