"""rankloop: online learning to rank. Rankers that learn, while they are being used, from what people click.

>>> import rankloop as rl
>>> data = rl.load("tiny")
>>> run = rl.simulate(rl.ROLTR(), rl.users.noisy(), data, impressions=1000, seed=1)
>>> len(run.online_curve)
1000
"""

from rankloop import metrics, policies, propensities, rewards, users
from rankloop.data import Collection, Split, load
from rankloop.errors import DataError, DivergenceError, RankloopError, SettingsError
from rankloop.evaluation import evaluate
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, FixedWeights, MDPRank, Oracle
from rankloop.online import OnlineRanker, Page
from rankloop.run import Run
from rankloop.simulation import simulate

__version__ = "0.1.0"

__all__ = [
    "COLTR",
    "DBGD",
    "PDGD",
    "PMGD",
    "ROLTR",
    "Collection",
    "DataError",
    "DivergenceError",
    "FixedWeights",
    "MDPRank",
    "OnlineRanker",
    "Oracle",
    "Page",
    "RankloopError",
    "Run",
    "SettingsError",
    "Split",
    "evaluate",
    "load",
    "metrics",
    "policies",
    "propensities",
    "rewards",
    "simulate",
    "users",
]
