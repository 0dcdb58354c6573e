"""What simulations leave behind, and what is done with it.

- `run`: one run, its curves, and the manifest that says what was run where (`commits`: at which commit)
- `many`: every learner with every user on every collection, with every seed
- `batches`: many runs on a device, some seconds at a time; `costs` estimates how long it takes
- `runs`: many runs as tables, summaries and comparisons; `plots` draws them, `notebook` shows them
"""

from rankloop.runs.run import Run
from rankloop.runs.runs import Runs

__all__ = ["Run", "Runs"]
