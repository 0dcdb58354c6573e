"""Where rankloop keeps what it makes: imported collections, synthetic worlds, compiled kernels.

One folder, `RANKLOOP_HOME` if that is set, else the platform's cache folder. Everything in it can
be deleted at any time; it is made again when it is needed.
"""

import os
from pathlib import Path

from platformdirs import user_cache_path


def home() -> Path:
    """The data folder: `RANKLOOP_HOME`, else the platform's cache folder for rankloop."""
    chosen = os.environ.get("RANKLOOP_HOME")
    return Path(chosen).expanduser().absolute() if chosen else user_cache_path("rankloop")
