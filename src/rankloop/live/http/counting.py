"""How many values a body holds, known before it is decoded, while the interpreter does something else."""

from typing import Any

import numpy as np

from rankloop.kernels import kernel

_FIXED = np.zeros(256, np.int64)
"""Bytes that follow a first byte of MessagePack, whatever they say."""
_SIZED = np.zeros(256, np.int64)
"""How many of them say how many more follow."""
for _first, _bytes in ((0xCA, 4), (0xCB, 8), (0xDC, 2), (0xDD, 4), (0xDE, 2), (0xDF, 4)):
    _FIXED[_first] = _bytes
for _place in range(4):
    _FIXED[0xCC + _place] = _FIXED[0xD0 + _place] = 1 << _place
for _place in range(5):
    _FIXED[0xD4 + _place] = 1 + (1 << _place)
for _place in range(3):
    _FIXED[0xC7 + _place] = 1
    _SIZED[0xC4 + _place] = _SIZED[0xC7 + _place] = _SIZED[0xD9 + _place] = 1 << _place
for _first in range(0xA0, 0xC0):
    _FIXED[_first] = _first & 0x1F


@kernel
def _count(body: Any, most: int) -> Any:
    count = at = 0
    while at < len(body) and count <= most:
        first = body[at]
        more = 0
        for place in range(_SIZED[first]):
            if at + 1 + place < len(body):
                more = 256 * more + body[at + 1 + place]
        at += 1 + _SIZED[first] + _FIXED[first] + more
        count += 1
    return count


def packed_values(body: bytes, most: int) -> int:
    """Numbers, texts, lists and objects in a body of MessagePack, as far as there are no more than `most` of them.

    >>> import msgspec
    >>> packed_values(msgspec.msgpack.encode({"query": "red shoes", "sizes": [42, 0.5]}), 100)
    7
    """
    return int(_count(np.frombuffer(body, np.uint8), most))


def written_values(body: bytes) -> int:
    """The same of JSON, or a few more: a comma in a text counts too.

    >>> written_values(b'{"query": "red shoes", "sizes": [42, 0.5]}')
    3
    """
    return 1 + body.count(b",")
