"""What rankloop raises: a sentence that names what was wrong, where, and what would be right.

The command line prints it and leaves with exit code 2; nothing else does. What is wrong with an input is a `ValueError`
too; what goes wrong with sound input (a store that fails, a learner that diverges) is not.
"""


class RankloopError(Exception):
    """Something that cannot be done, with the reason and the remedy in its message."""


class DataError(RankloopError, ValueError):
    """A collection, a data file or the data folder cannot be used as it is."""


class SettingsError(RankloopError, ValueError):
    """A learner, user or simulation was asked for with a value that makes no sense."""


class DivergenceError(RankloopError):
    """A learner's weights left the range of numbers that it can rank with."""
