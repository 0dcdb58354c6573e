"""What rankloop raises when an input is wrong: a sentence for the person who caused it.

Every message names what was wrong, where, and what would be right. The command line prints it
and leaves with exit code 2; nothing else does.
"""


class RankloopError(ValueError):
    """An input that cannot be used, with the reason and the remedy in its message."""


class DataError(RankloopError):
    """A collection, a data file or the data folder cannot be used as it is."""


class SettingsError(RankloopError):
    """A learner, user or simulation was asked for with a value that makes no sense."""
