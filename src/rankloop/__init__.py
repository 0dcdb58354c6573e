"""rankloop: online learning to rank. Rankers that learn, while they are being used, from what people click.

>>> import rankloop as rl
>>> data = rl.load("tiny")
>>> run = rl.simulate(rl.ROLTR(), rl.users.noisy(), data, impressions=1000, seed=1)
>>> len(run.online_curve)
1000

Names are loaded when they are first used, so that the client and the command line start without the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop import metrics as metrics
    from rankloop import policies as policies
    from rankloop import propensities as propensities
    from rankloop import rewards as rewards
    from rankloop import users as users
    from rankloop.data import Collection as Collection
    from rankloop.data import Split as Split
    from rankloop.data import load as load
    from rankloop.errors import DataError as DataError
    from rankloop.errors import DivergenceError as DivergenceError
    from rankloop.errors import RankloopError as RankloopError
    from rankloop.errors import SettingsError as SettingsError
    from rankloop.evaluation import evaluate as evaluate
    from rankloop.learners import COLTR as COLTR
    from rankloop.learners import DBGD as DBGD
    from rankloop.learners import PDGD as PDGD
    from rankloop.learners import PMGD as PMGD
    from rankloop.learners import ROLTR as ROLTR
    from rankloop.learners import FixedWeights as FixedWeights
    from rankloop.learners import MDPRank as MDPRank
    from rankloop.learners import Oracle as Oracle
    from rankloop.learners import PairRank as PairRank
    from rankloop.learners import PLRank as PLRank
    from rankloop.learners import Posterior as Posterior
    from rankloop.online import OnlineRanker as OnlineRanker
    from rankloop.online import Page as Page
    from rankloop.plugins import attribute as attribute
    from rankloop.plugins import register as register
    from rankloop.rankers import MLP as MLP
    from rankloop.rankers import Linear as Linear
    from rankloop.runs.many import simulate_many as simulate_many
    from rankloop.runs.run import Run as Run
    from rankloop.runs.runs import Runs as Runs
    from rankloop.simulation import simulate as simulate

__version__ = "0.2.0"

_ROOMS = ("metrics", "policies", "propensities", "rewards", "users")
_HOMES = {
    "data": ("Collection", "Split", "load"),
    "errors": ("DataError", "DivergenceError", "RankloopError", "SettingsError"),
    "evaluation": ("evaluate",),
    "learners": (
        "COLTR",
        "DBGD",
        "PDGD",
        "PLRank",
        "PMGD",
        "ROLTR",
        "FixedWeights",
        "MDPRank",
        "Oracle",
        "PairRank",
        "Posterior",
    ),
    "online": ("OnlineRanker", "Page"),
    "plugins": ("attribute", "register"),
    "rankers": ("MLP", "Linear"),
    "runs": ("Run", "Runs"),
    "runs.many": ("simulate_many",),
    "simulation": ("simulate",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted((*_ROOMS, *_HOME_OF))


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(f"rankloop.{_HOME_OF[name]}"), name)
    elif name in _ROOMS:
        value = import_module(f"rankloop.{name}")
    else:
        value = _room(name)
    globals()[name] = value
    return value


def _room(name: str) -> Any:
    """A module of the package that nobody has imported yet, such as `rankloop.data`."""
    address = f"rankloop.{name}"
    try:
        if not name.startswith("_"):
            return import_module(address)
    except ModuleNotFoundError as error:
        if error.name != address:
            raise
    raise AttributeError(f"module 'rankloop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
