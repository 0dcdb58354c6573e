"""The engine's order as a feature of its own, for teams that send candidates in an order and no score.

A feature called `_incoming` is not sent but computed: −ln of a candidate's place as it came, 0 for the first, −0.69 for
the second. Places count as logarithms because that is how an engine's opinion wears off: the first is far better than
the second, the 40th hardly better than the 41st. It does not depend on how many candidates there are, is kept on the
log beside the features that were sent, and is scaled and weighed as they are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

INCOMING = "_incoming"
"""What the feature is called; nobody can send one of this name."""
MEANS = f"{INCOMING!r} is −ln of a candidate's place in the engine's order: 0 for the first, −0.69 for the second"


def sent(names: Sequence[str]) -> tuple[str, ...]:
    """The features that callers send, in their order.

    >>> sent(("price", "_incoming"))
    ('price',)
    """
    return tuple(name for name in names if name != INCOMING)


def places(count: int) -> NDArray[np.float64]:
    """The feature of so many candidates, in the order in which they came.

    >>> places(3).round(2).tolist()
    [0.0, -0.69, -1.1]
    """
    place: NDArray[np.float64] = np.arange(1.0, count + 1.0)
    return np.log(1.0 / place)


def with_incoming(X: NDArray[Any], names: Sequence[str]) -> NDArray[Any]:
    """(candidates, features) with all the model's features, of (candidates, features) as they were sent.

    >>> with_incoming(np.array([[120.0], [45.0]]), ("price", "_incoming")).round(2).tolist()
    [[120.0, 0.0], [45.0, -0.69]]
    """
    if INCOMING not in names:
        return X
    place = names.index(INCOMING)
    whole = np.empty((len(X), len(names)), X.dtype)
    whole[:, :place], whole[:, place], whole[:, place + 1 :] = X[:, :place], places(len(X)), X[:, place:]
    return whole
