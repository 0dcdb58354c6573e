"""The rules of SVMlight text, one line at a time, with a sentence for each way to break them.

    grade qid:query feature:value feature:value … # comment

`read_line` is the slow and complete reading of a line. The scanner sends here what it does not read
itself: numbers that need Python's `float`, and everything that is wrong.

>>> read_line(b"2 qid:13 1:0.5 3:1e-3 # a comment", Location("some.txt", 7))
Row(grade=2, query=13, features={1: 0.5, 3: 0.001})
>>> read_line(b"2 qid:13 1:0.5 1:0.7", Location("some.txt", 7))
Traceback (most recent call last):
...
rankloop.errors.DataError: some.txt, line 7: feature 1 comes twice; got '1:0.7'. Give each ...
"""

import math
import re
from typing import NamedTuple, NoReturn

from rankloop.errors import DataError
from rankloop.metrics import MAX_GRADE

MAX_FEATURE = 1_000_000

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_INTEGER = re.compile(rb"[+-]?\d+")
_NAN_OR_INFINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_BLANKS = re.compile(rb"[ \t\r]+")
_PRINTABLE = re.compile(rb"[\x20-\x7e]*")
_SHOWN = 60


class Row(NamedTuple):
    """What a line says: features are numbered from 1, whatever the file does."""

    grade: int
    query: int
    features: dict[int, float]


class Location(NamedTuple):
    """A line of a file, to be named in an error."""

    path: str
    line: int

    def refuse(self, reason: str, got: bytes, remedy: str) -> NoReturn:
        """Raise the sentence: place, reason, the offending text and what would be right."""
        raise DataError(f"{self.path}, line {self.line}: {reason}; got {_shown(got)}. {remedy}")


def read_line(line: bytes, place: Location, *, features: int | None = None, zero_based: bool = False) -> Row | None:
    """The row that a line holds, None for a blank or comment line, or a `DataError`.

    `features` is the number of features that the file may have; None: any.
    """
    if b"\0" in line:
        place.refuse("a NUL byte", line, "Save the file as plain text (ASCII or UTF-8).")
    tokens = [token for token in _BLANKS.split(line.partition(b"#")[0]) if token]
    if not tokens:
        return None
    for token in tokens:
        if not _PRINTABLE.fullmatch(token):
            place.refuse("this is not text", token, "Give plain text, unpacked or as .gz.")
    grade = _grade(tokens[0], place)
    if len(tokens) < 2 or not tokens[1].startswith(b"qid:"):
        got = tokens[1] if len(tokens) > 1 else line
        place.refuse("the query is missing", got, "Write 'grade qid:number feature:value …'.")
    query = _query(tokens[1], place)
    found: dict[int, float] = {}
    for token in tokens[2:]:
        number, value = _feature(token, place, features, zero_based)
        if number in found:
            shown = number - 1 if zero_based else number
            place.refuse(f"feature {shown} comes twice", token, "Give each feature once.")
        found[number] = value
    return Row(grade, query, found)


def _grade(token: bytes, place: Location) -> int:
    remedy = f"A line begins with its grade, a whole number from 0 to {MAX_GRADE}."
    if b":" in token:
        place.refuse("the grade is missing", token, remedy)
    if not _NUMBER.fullmatch(token):
        place.refuse("the grade is not a whole number", token, remedy)
    grade = float(token)
    if grade < 0:
        place.refuse("the grade is negative", token, remedy)
    if grade > MAX_GRADE:
        place.refuse(f"the grade is above {MAX_GRADE}", token, remedy)
    if grade != int(grade):
        place.refuse("the grade is not a whole number", token, remedy)
    return int(grade)


def _query(token: bytes, place: Location) -> int:
    text = token.removeprefix(b"qid:")
    remedy = "Write 'qid:' and a whole number."
    if not _INTEGER.fullmatch(text):
        place.refuse("the query is not an integer", token, remedy)
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        place.refuse("the query does not fit 64 bits", token, remedy)
    return int(text)


def _feature(token: bytes, place: Location, features: int | None, zero_based: bool) -> tuple[int, float]:
    name, colon, text = token.partition(b":")
    if not colon:
        place.refuse("a token is not 'feature:value'", token, "Write for example '12:0.75'.")
    if name == b"qid":
        place.refuse("a second query in one line", token, "Put each document on its own line.")
    if not _INTEGER.fullmatch(name):
        remedy = "Write 'feature:value', the feature as a whole number."
        place.refuse("the feature number is not an integer", token, remedy)
    lowest, shift = (0, 1) if zero_based else (1, 0)
    number = int(name) if len(name) < 20 else MAX_FEATURE * 10
    if number < lowest:
        remedy = "Shift them, or import with zero_based." if number == 0 else "Number them from 1."
        place.refuse(f"feature numbers start at {lowest}", token, remedy)
    highest = MAX_FEATURE if features is None else features
    if number + shift > highest:
        remedy = "Check the file, or the number of features asked for."
        place.refuse(f"the feature number is above {highest - shift:,}", token, remedy)
    return number + shift, _value(text, token, place)


def _value(text: bytes, token: bytes, place: Location) -> float:
    if _NAN_OR_INFINITE.fullmatch(text):
        place.refuse("the value is not finite", token, "Give a number, or leave the feature out (= 0).")
    if not _NUMBER.fullmatch(text):
        place.refuse("the value is not a number", token, "Write for example '12:0.75'.")
    value = float(text)
    if math.isinf(value):
        place.refuse("the value is too large for a float64", token, "Stay within ±1.797e308.")
    return value


def _shown(text: bytes) -> str:
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + b"..."
    return "'" + cut.decode("ascii", "backslashreplace").replace("\0", "\\x00") + "'"
