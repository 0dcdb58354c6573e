"""The result of a search as a study file: TOML that runs the best settings on the test split."""

import math
from typing import Any

import msgspec

from rankloop import users
from rankloop.display import mean_text
from rankloop.errors import SettingsError
from rankloop.learners import to_settings
from rankloop.plugins import ATTRIBUTES, needed_by
from rankloop.studies.specification import Source
from rankloop.studies.tuning.search import Candidate, TuningResult, points_every
from rankloop.studies.tuning.values import toml


def as_study(result: TuningResult, *, source: Source | None = None, repeats: int | None = None) -> str:
    """The TOML text of a study that runs the best settings, measured on the test split.

    Its seeds begin after those of the search. `source` says how a study loads a collection that lay in memory.
    """
    place = source or result.source
    if place is None:
        raise SettingsError(
            f"a study cannot load {result.data!r} by that name; say what it is: as_study(result, source=Source(data=…))"
        )
    place = msgspec.structs.replace(place, settings={})  # the learner below has all its settings
    best = result.best
    user: Any = users.to_settings(result.user)
    if result.user in [users.by_name(name, n) for name, by in users.ATTRACTIONS.items() for n in (None, *by)]:
        user = result.user.name
    tried = [f"#   {candidate}: {shown(candidate, result.objective)}" for candidate in result.candidates]
    looked_at = [ATTRIBUTES[name] for name in result.user.all_attributes if name in ATTRIBUTES]
    lines = [
        f"# Chosen on the validation split of {place.name}: {best.learner.name} with {best}.",
        f"# {result.measured};",
        f"# mean of {result.repeats} runs of {result.impressions:,} impressions ± 95 % t-interval:",
        *tried,
        f"name = {toml(f'tuned-{best.learner.name.lower()}')}",
        f"title = {toml(f'{best.learner.name} with {best}')}",
        *([f"plugins = {toml(brought)}"] if (brought := needed_by(best.learner, result.user, *looked_at)) else []),
        'question = "What do the settings that were chosen on the validation split give on the test split?"',
        f"seed = {result.seed + result.repeats}",
        f"impressions = {result.impressions}",
        f"repeats = {result.repeats if repeats is None else repeats}",
        f"evaluate_every = {points_every(result.impressions)}",
        f"metrics = {toml([result.metric.name])}",
        f"users = {toml([user])}",
        f"collections = {toml([msgspec.to_builtins(place)])}",
        "",
        "[[grids]]",
        'name = "tuned"',
        f"learners = {toml([to_settings(best.learner)])}",
    ]
    return "\n".join(lines) + "\n"


def shown(candidate: Candidate, objective: str) -> str:
    """Mean ± interval, with the digits that the objective deserves."""
    if math.isnan(candidate.mean):
        return "diverged"
    return mean_text(*candidate.interval, 1 if objective == "online" else 4)
