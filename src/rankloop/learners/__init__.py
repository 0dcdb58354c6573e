"""The methods, one file each. A new one is one new file here and one line in `LEARNERS`.

>>> LEARNERS["ROLTR"](reward="ips+")
ROLTR(reward='ips+')
>>> from_settings({"learner": "PDGD", "learning_rate": 0.05})
PDGD(learning_rate=0.05)
>>> to_settings(DBGD())["interleaving"]
'probabilistic'
"""

from typing import Any

import msgspec

from rankloop.errors import SettingsError
from rankloop.learners.coltr import COLTR
from rankloop.learners.contract import LEARNERS, Learner
from rankloop.learners.dbgd import DBGD
from rankloop.learners.lines import FixedWeights, Oracle
from rankloop.learners.mdprank import MDPRank
from rankloop.learners.pairrank import PairRank
from rankloop.learners.pdgd import PDGD
from rankloop.learners.plrank import PLRank
from rankloop.learners.pmgd import PMGD
from rankloop.learners.posterior import Posterior
from rankloop.learners.roltr import ROLTR
from rankloop.mistakes import explained
from rankloop.plugins import HINT

for _method in (ROLTR, PDGD, DBGD, PMGD, COLTR, Posterior, PairRank, PLRank, MDPRank, FixedWeights, Oracle):
    LEARNERS.add(_method)


def require_learner(owner: str, learner: Any) -> None:
    """Refuse anything but the settings of a method."""
    if not isinstance(learner, Learner):
        raise SettingsError(f"{owner}: learner must be the settings of a method, such as rl.ROLTR(); got {learner!r}")


def require_click_learner(owner: str, learner: Learner) -> None:
    """Refuse a method that needs more than the clicks of real people."""
    if learner.needs_grades():
        able = ", ".join(name for name, kind in LEARNERS.items() if not kind.needs_grades())
        raise SettingsError(f"{owner}: {learner.name} needs more than clicks; choose one of {able}")


def require_compiled(owner: str, learner: Learner, model: Any) -> Any:
    """The model; refuse one in plain Python, which only a simulation can run."""
    if not hasattr(model, "_asdict"):
        raise SettingsError(f"{owner}: {learner.name} is written in plain Python, which only simulations can run")
    return model


def to_settings(learner: Learner) -> dict[str, Any]:
    """A learner's settings as plain values, for TOML, JSON and manifests."""
    plain = msgspec.json.decode(msgspec.json.encode(learner))
    return {name: value for name, value in plain.items() if value is not None}


def from_settings(settings: dict[str, Any]) -> Any:
    """The learner that `to_settings` described; unknown names and keys are refused."""
    name = settings.get("learner") if isinstance(settings, dict) else None
    if not isinstance(name, str) or name not in LEARNERS:
        raise SettingsError(f"learner must be one of {', '.join(LEARNERS)}; got {name!r}{HINT}")
    try:
        return msgspec.convert(settings, LEARNERS[name])
    except msgspec.ValidationError as error:
        # A check of ours says whose setting it is; msgspec's own (wrong type, unknown key) does not.
        message = explained(error, LEARNERS[name], settings)
        raise SettingsError(message if message.startswith(f"{name}: ") else f"{name}: {message}") from None


__all__ = [
    "COLTR",
    "DBGD",
    "LEARNERS",
    "PDGD",
    "PMGD",
    "ROLTR",
    "FixedWeights",
    "Learner",
    "MDPRank",
    "Oracle",
    "PLRank",
    "PairRank",
    "Posterior",
    "from_settings",
    "require_click_learner",
    "require_compiled",
    "require_learner",
    "to_settings",
]
