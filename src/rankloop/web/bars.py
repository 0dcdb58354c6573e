"""A signed number as a bar, blue to the right or orange to the left of the middle."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MIDDLE = 50.0  # of a drawing that is 100 wide


class Bar(NamedTuple):
    """A number with a sign, and where its bar lies in a drawing 100 wide."""

    label: str
    value: float
    x: float
    width: float
    title: str = ""

    @property
    def tone(self) -> str:
        """`plus` or `minus`."""
        return "minus" if self.value < 0 else "plus"


def bar(label: str, value: float, largest: float, *, title: str = "", root: bool = False) -> Bar:
    """The bar of a value on the scale of the largest; on a square-root scale a small one is still seen.

    >>> bar("depth", -0.25, largest=1.0, root=True)
    Bar(label='depth', value=-0.25, x=25.0, width=25.0, title='')
    """
    share = min(1.0, abs(float(value)) / largest) if largest > 0 else 0.0
    width = _MIDDLE * (math.sqrt(share) if root else share)
    return Bar(label, float(value), round(_MIDDLE - width if value < 0 else _MIDDLE, 2), round(width, 2), title)


def largest(values: NDArray[np.float64], most: int) -> list[int]:
    """Where the largest values stand, whatever their sign.

    >>> largest(np.array([0.0, -2.0, 1.0]), 2)
    [1, 2]
    """
    return [int(i) for i in np.argsort(-np.abs(values), kind="stable")[:most]]
