"""The fast path through SVMlight text: whole lines of ordinary numbers, at a few cycles a byte.

The scanner takes eight digits at a time from one 64-bit word, so that the length of a number costs
no mispredicted branch. It never judges: a line that it cannot read as it is (an odd number, an
error, a duplicate feature) is handed to `rankloop.data.svmlight.grammar`, which either reads it slowly or
says what is wrong.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rankloop.data.svmlight.decimals import to_float
from rankloop.kernels import kernel
from rankloop.metrics import MAX_GRADE

PADDING = 16  # bytes behind the text that a word may reach into

# Why a scan ended.
FINISHED, ROWS_FULL, TOO_NARROW, ODD_LINE = range(4)
# Its state vector: next byte, next row, next line, highest feature seen, width needed.
AT, ROW, LINE, WIDEST, NEEDED = range(5)

_TAB, _NEWLINE, _RETURN, _SPACE, _HASH = 9, 10, 13, 32, 35
_PLUS, _MINUS, _POINT, _COLON = 43, 45, 46, 58
_QID = int.from_bytes(b"qid:", "little")
_LOW_WORD = np.uint64(0xFFFFFFFF)
_ZEROS = np.uint64(0x3030303030303030)
_PAST_NINE = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_EIGHT_TENS = 10 ** np.arange(9)


@intrinsic
def _byte(_context: Any, text: Any, at: Any) -> Any:
    """text[at] of a uint8 array as an int64, without a check for negative positions."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.zext(builder.load(builder.gep(view.data, [args[1]])), ir.IntType(64))

    return types.int64(text, types.int64), generate


@intrinsic
def _word(_context: Any, text: Any, at: Any) -> Any:
    """The eight bytes text[at : at + 8] as one little-endian uint64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        address = builder.gep(view.data, [args[1]])
        word = builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(text, types.int64), generate


@intrinsic
def _trailing_zeros(_context: Any, word: Any) -> Any:
    """How many zero bits stand below the lowest one; 64 for 0."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.int64(types.uint64), generate


@kernel
def scan(text, stop, state, values, grades, queries, lines, stamps, limit, shift):
    """Read lines from text[state[AT]] up to `stop`, just behind a line break; says why it ended.

    Fills row after row: values (rows, width) float64, grades uint8, queries int64, and lines int64,
    the line that each row came from. `stamps` (width,) int64 remembers the line that last set a
    feature, `limit` is the highest feature allowed, `shift` is 1 where numbers start at 0. After
    ODD_LINE, TOO_NARROW and ROWS_FULL the state points at the beginning of the line in question,
    and nothing of it has been kept.
    """
    at, row, line, widest = state[AT], state[ROW], state[LINE], state[WIDEST]
    capacity, width = values.shape
    reason = FINISHED
    while at < stop:
        start = at
        at = _skip_blanks(text, at)
        c = _byte(text, at)
        if c in (_NEWLINE, _HASH):
            at = _line_end(text, at)
            if at < 0:
                reason, at = ODD_LINE, start
                break
            at, line = at + 1, line + 1
            continue
        if row == capacity:
            reason, at = ROWS_FULL, start
            break
        grade, query, at = _grade_and_query(text, at)
        if at < 0:
            reason, at = ODD_LINE, start
            break
        at, highest = _features(text, at, line, values[row], stamps, min(limit, width), shift)
        if at < 0:
            reason, at = ODD_LINE, start
            if highest > width and highest <= limit:
                reason = TOO_NARROW
                state[NEEDED] = highest
            break
        widest = max(widest, highest)
        grades[row], queries[row], lines[row] = grade, query, line
        row, at, line = row + 1, at + 1, line + 1
    state[AT], state[ROW], state[LINE], state[WIDEST] = at, row, line, widest
    return reason


@kernel
def _features(text, at, line, target, stamps, limit, shift):
    """Read `number:value` to the line's end: (position of its break or −1, highest feature)."""
    target[:] = 0.0
    highest = 0
    while True:
        at = _skip_blanks(text, at)
        number, digits = _eight_digits(text, at)
        if digits == 0:
            c = _byte(text, at)
            if c in (_NEWLINE, _HASH):
                return _line_end(text, at), highest
            return -1, 0
        at += digits
        number += shift
        if digits == 8 or number < 1 or _byte(text, at) != _COLON:
            return -1, 0
        if number > limit:
            return -1, number
        value, at = _value(text, at + 1)
        if at < 0 or stamps[number - 1] == line:
            return -1, 0
        stamps[number - 1] = line
        target[number - 1] = value
        highest = max(highest, number)


@kernel
def _grade_and_query(text, at):
    """Read `grade qid:number`: (grade, query, position behind it), position −1 where it is odd."""
    grade, digits = _eight_digits(text, at)
    at += digits
    if digits == 0 or digits == 8 or grade > MAX_GRADE:
        return 0, 0, -1
    if _byte(text, at) == _POINT:  # 2.0 is a whole number too
        fraction, digits = _eight_digits(text, at + 1)
        at += 1 + digits
        if digits == 8 or fraction != 0:
            return 0, 0, -1
    behind = _skip_blanks(text, at)
    if behind == at or np.int64(_word(text, behind) & _LOW_WORD) != _QID:
        return 0, 0, -1
    at = behind + 4
    query, digits = _eight_digits(text, at)
    at += digits
    if digits == 8:
        more, digits = _eight_digits(text, at)
        query, at = query * _EIGHT_TENS[digits] + more, at + digits
    if digits == 8 or not _ends_token(_byte(text, at)) or _byte(text, at - 1) == _COLON:
        return 0, 0, -1
    return grade, query, at


@kernel
def _value(text, at):
    """Read a number: (value, position behind it), or position −1 where it is odd."""
    start = at
    negative = _byte(text, at) == _MINUS
    at += negative
    whole, digits = _eight_digits(text, at)
    at += digits
    if digits == 0 or digits == 8:
        return _careful_value(text, start)
    c = _byte(text, at)
    value = np.float64(whole)
    if c == _POINT:
        fraction, places = _eight_digits(text, at + 1)
        at += 1 + places
        c = _byte(text, at)
        if places == 8:
            return _careful_value(text, start)
        # At most 14 digits: exact, and so is the power of ten; one division, correctly rounded.
        tens = _EIGHT_TENS[places]
        value = np.float64(whole * tens + fraction) / np.float64(tens)
    if not _ends_token(c):
        return _careful_value(text, start)
    return (-value if negative else value), at


@kernel
def _careful_value(text, at):
    """The same for any number of digits and an exponent; odd where `to_float` cannot decide."""
    negative = _byte(text, at) == _MINUS
    if negative or _byte(text, at) == _PLUS:
        at += 1
    mantissa, kept, exponent, lost, digits = np.uint64(0), 0, 0, False, 0
    behind_point = False
    while True:
        c = _byte(text, at)
        if c == _POINT and not behind_point:
            behind_point = True
        elif 48 <= c < 58:
            digits += 1
            if kept < 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
                kept += mantissa > np.uint64(0)
                exponent -= behind_point
            else:
                lost = lost or c != 48
                exponent += not behind_point
        else:
            break
        at += 1
    if c == 101 or c == 69:
        power, at = _exponent(text, at + 1)
        exponent += power
    if at < 0 or digits == 0 or not _ends_token(_byte(text, at)):
        return 0.0, -1
    value, sure = to_float(mantissa, exponent)
    if lost and sure:  # the true number lies between two neighbouring 19-digit ones
        above, sure = to_float(mantissa + np.uint64(1), exponent)
        sure = sure and above == value
    return (-value if negative else value), (at if sure else -1)


@kernel
def _exponent(text, at):
    negative = _byte(text, at) == _MINUS
    if negative or _byte(text, at) == _PLUS:
        at += 1
    power, digits = _eight_digits(text, at)
    if digits == 0 or digits == 8:
        return 0, -1
    return (-power if negative else power), at + digits


@kernel
def _eight_digits(text, at):
    """The number that begins at `at`, up to eight digits of it, and how many digits it has."""
    word = _word(text, at) ^ _ZEROS
    others = ((word + _PAST_NINE) | word) & _HIGH_BITS
    digits = _trailing_zeros(others) >> 3
    # Shift the digits to the top; what enters below counts as leading zeros. In two steps, because
    # a shift by 64, for no digit at all, is undefined.
    word = (word << np.uint64(32 - 4 * digits)) << np.uint64(32 - 4 * digits)
    word = word * np.uint64(10) + (word >> np.uint64(8))
    pairs = np.uint64(0x000000FF000000FF)
    low = (word & pairs) * np.uint64(0x000F424000000064)
    high = ((word >> np.uint64(16)) & pairs) * np.uint64(0x0000271000000001)
    return np.int64((low + high) >> np.uint64(32)), digits


@kernel
def _skip_blanks(text, at):
    c = _byte(text, at)
    while c in (_SPACE, _TAB, _RETURN):
        at += 1
        c = _byte(text, at)
    return at


@kernel
def _line_end(text, at):
    """The position of the next line break; −1 where a NUL comes first."""
    c = _byte(text, at)
    while c != _NEWLINE:
        if c == 0:
            return -1
        at += 1
        c = _byte(text, at)
    return at


@kernel
def _ends_token(c):
    return c in (_SPACE, _NEWLINE, _TAB, _RETURN, _HASH)
