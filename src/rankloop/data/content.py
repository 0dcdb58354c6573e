"""The .npy form of a split's arrays, and a digest of it.

The digest names the content: it is taken over the very bytes that the store writes, so that a split in memory and
the same split on disk have the same one.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ARRAYS: dict[str, np.dtype[Any]] = {
    "features": np.dtype("<f4"),
    "offsets": np.dtype("<i8"),
    "grades": np.dtype("u1"),
    "query_ids": np.dtype("<i8"),
}
HEADER = 128  # bytes; keeps the data on a 64-byte boundary


def header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    """A version 1.0 .npy header of fixed length, so that it can be written last."""
    text = f"{{'descr': {dtype.str!r}, 'fortran_order': False, 'shape': {shape}, }}"
    padded = text.ljust(HEADER - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode()


def digest_of_arrays(arrays: Iterable[NDArray[Any]]) -> str:
    """The digest of a split, given its four arrays in the order of `ARRAYS`."""
    digest = hashlib.blake2b(digest_size=16)
    for array, dtype in zip(arrays, ARRAYS.values(), strict=True):
        digest.update(header(array.shape, dtype))
        digest.update(np.ascontiguousarray(array, dtype).data)
    return digest.hexdigest()


def digests_of_columns(columns: Mapping[str, NDArray[np.float64]]) -> dict[str, str]:
    """The digest of each attribute of a split, by name."""
    return {
        name: hashlib.blake2b(np.ascontiguousarray(column, "<f8").data, digest_size=16).hexdigest()
        for name, column in columns.items()
    }


def digest_of_splits(digests: dict[str, str]) -> str:
    """A name for the content of a collection, given the digests of its splits by name.

    >>> digest_of_splits({"train": "a", "test": "b"}) == digest_of_splits({"test": "b", "train": "a"})
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, content in sorted(digests.items()):
        digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()
