"""Collections: reading, normalising, storing and making the data that rankers learn from."""

from rankloop.data.collection import Collection, Split
from rankloop.data.loading import add, info, listing, load, make, remove
from rankloop.data.svmlight.reader import read

__all__ = ["Collection", "Split", "add", "info", "listing", "load", "make", "read", "remove"]
