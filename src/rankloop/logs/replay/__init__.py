"""What would another learner have learned from this log, and what would it have earned? Nobody is exposed to it.

`planning` says with which settings, `folding` goes through the log with the live learner's own fold, `estimating` asks
the part that was held back, `picture` draws.
"""

from rankloop.logs.replay.folding import Replay, open_log
from rankloop.logs.replay.planning import other_settings
from rankloop.logs.replay.replaying import Replayed, replay

__all__ = ["Replay", "Replayed", "open_log", "other_settings", "replay"]
