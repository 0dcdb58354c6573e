"""How far can somebody steer a model by clicking for a vendor? Raw figures as JSON, and a table.

python -m benchmarks.steering [--visits 3000] [--seeds 5] [--json FILE]
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import commit
from benchmarks.shop.__main__ import ROLTR, readme_model
from benchmarks.steering.attack import Attack, Vendor, settings_of, steered, undone
from rankloop.cli.terminal import err
from rankloop.runs.run import this_machine

CHANCE = Attack("chance", 0.0)
ATTACKS = (None, CHANCE, *(Attack(kind, share) for kind in ("client", "botnet") for share in (0.01, 0.05, 0.1, 0.3)))
LEARNERS = ("Posterior", "ROLTR")
OTHER_PAGES = 1_000
HEAD = (
    "| who clicks for the vendor | learner | rises before | now | searched | undone | first before | now | "
    "bots found | people wronged |"
)
BEFORE = Path(__file__).with_name("before.json")


def main() -> None:
    """Every learner, every attack, every seed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steering", description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for learner in LEARNERS:
        for attack in ATTACKS:
            runs = [measured(learner, given.visits, seed, attack) for seed in range(1, given.seeds + 1)]
            rows.append({"learner": learner, "attack": attack and attack._asdict(), "runs": runs})
            err.print(f"{learner} {attack}: mean rank {np.mean([run['mean_rank'] for run in runs]):.2f}")
    figures = {"commit": commit(), "machine": this_machine(), "visits": given.visits, "rows": rows}
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(table(json.loads(BEFORE.read_text(encoding="utf-8")) if BEFORE.exists() else figures, figures))


def measured(learner: str, visits: int, seed: int, attack: Attack | None) -> dict[str, Any]:
    """One shop, one model, one crowd; where the vendor stands in the end."""
    body = readme_model() | (ROLTR if learner == "ROLTR" else {})
    vendor = Vendor(seed)
    made = steered(vendor, settings_of(body, seed + (OTHER_PAGES if attack == CHANCE else 0)), visits, seed, attack)
    found = {"seed": seed, **vendor.place(made.fold)._asdict(), "fates": dict(made.fold.fates)}
    if attack and attack.share:
        again = undone(made)
        found |= {"undone": again._asdict() | {"place": again.place._asdict()}}
    return found


def table(before: dict[str, Any], now: dict[str, Any]) -> str:
    """By how much the vendor's products rise, and how often one stands first, before and now."""
    lines = [HEAD, "|---|---|---|---|---|---|---|---|---|---|"]
    for row in now["rows"]:
        attack, learner, runs = row["attack"], row["learner"], row["runs"]
        alone = [run["mean_rank"] for run in _runs(now, learner, None)]
        then = _runs(before, learner, attack)
        cells = [_risen([run["mean_rank"] for run in _runs(before, learner, None)], then), _risen(alone, runs)]
        cells.append(_risen([run["searched"] for run in _runs(now, learner, None)], runs, "searched"))
        again = [run["undone"] for run in runs if "undone" in run]
        cells += [_risen(alone, [one["place"] for one in again]), _first(then), _first(runs)]
        found, bots, wronged = (sum(one[what] for one in again) for what in ("found", "bots", "wronged"))
        cells += [f"{found} of {bots}", f"{wronged}"] if again else ["", ""]
        lines.append(f"| {_said(attack)} | {learner} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _said(attack: dict[str, Any] | None) -> str:
    if attack is None:
        return "nobody"
    if attack["kind"] == CHANCE.kind:
        return "nobody, other pages drawn"
    return f"{'one client' if attack['kind'] == 'client' else 'a botnet'}, {100 * attack['share']:g} % of the traffic"


def _runs(figures: dict[str, Any], learner: str, attack: dict[str, Any] | None) -> list[dict[str, Any]]:
    rows = (row["runs"] for row in figures["rows"] if (row["learner"], row["attack"]) == (learner, attack))
    return next(rows, [])


def _first(runs: list[dict[str, Any]]) -> str:
    return f"{100 * np.mean([run['first'] for run in runs]):.0f} %" if runs else ""


def _risen(alone: list[float], runs: list[dict[str, Any]], where: str = "mean_rank") -> str:
    """The mean over shops, and its standard error: each shop is compared with itself, left alone."""
    if not runs:
        return ""
    risen = [one - run[where] for one, run in zip(alone, runs, strict=True)]
    return f"{np.mean(risen):.1f} ± {np.std(risen, ddof=1) / np.sqrt(len(risen)):.1f}"


if __name__ == "__main__":
    main()
