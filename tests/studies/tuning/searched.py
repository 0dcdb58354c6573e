"""A search small enough to run, and results made by hand."""

import rankloop as rl
from rankloop.metrics import metric
from rankloop.studies.specification import Source
from rankloop.studies.tuning import Candidate, TuningResult

TINY = rl.load("tiny")
SEARCH = {"learning_rate": [1e-6, 0.01], "reward": ["naive-", "ips+-"]}
SMALL = {"search": SEARCH, "impressions": 300, "repeats": 2, "workers": 1}


def made(*means, name="learning_rate", values=(0.01, 0.1, 1.0)):
    """A result with these means, one run each."""
    learners = [rl.ROLTR(**{name: value}) for value in values]
    chosen = [{name: value} for value in values]
    return TuningResult(
        candidates=tuple(Candidate(*parts, (mean,)) for *parts, mean in zip(learners, chosen, means, strict=True)),
        objective="online", user=rl.users.noisy(), data="tiny", source=Source(data="tiny"),
        impressions=100, repeats=1, seed=1, metric=metric("ndcg"),
    )  # fmt: skip
