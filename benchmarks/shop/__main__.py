"""`make bench-shop`: how fast does the README's model learn in the shop? Raw figures as JSON, and a page.

python -m benchmarks.shop [--visits 2000] [--seeds 5] [--json FILE] [--out docs/shop.md]
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import commit
from benchmarks.shop.visits import SCALINGS, engine, settings_of, supervised, visit
from benchmarks.shop.world import FEATURES, Shop
from rankloop.cli.terminal import err
from rankloop.runs.run import this_machine

README = Path(__file__).parents[2] / "README.md"
ROLTR = {"learner": {"learner": "ROLTR"}, "scaling": "query", "start": "incoming"}
"""What a model was made with before the posterior was the default."""
SCORE = "engine"
ORDER_ALONE = {"features": [name for name in FEATURES if name != SCORE]}
"""A team whose engine gives an order, and no score."""


def readme_model() -> dict[str, Any]:
    """The body of the README's own request, with the shop's features."""
    text = README.read_text(encoding="utf-8")
    made = re.search(r"/v1/models -H 'Content-Type: application/json' -d '(\{.*?\})'\n", text, re.DOTALL)
    assert made, "the README creates a model"
    body: dict[str, Any] = json.loads(made[1])
    return body | {"features": list(FEATURES)}


def main() -> None:
    """Every scaling, every seed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shop", description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    body, rows = readme_model(), []
    for name, settings in models(body).items():
        for scaling in SCALINGS if name == "README" else ("raw",):
            runs = [measured(settings, given.visits, seed, scaling) for seed in range(1, given.seeds + 1)]
            rows.append({"model": name, "features": scaling, "runs": runs})
            err.print(f"{name} {scaling}: {np.mean([run['way'] for run in runs]):.3f} of the way")
    figures = {"commit": commit(), "machine": this_machine(), "visits": given.visits, "rows": rows}
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    text = page(figures)
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


def models(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The README's model, and others to hold beside it."""
    named = body | {"start": {"from": "incoming", "feature": SCORE}}
    return {"README": body, "order alone": body | ORDER_ALONE, "score named": named, "ROLTR": body | ROLTR}


def measured(body: dict[str, Any], visits: int, seed: int, scaling: str) -> dict[str, Any]:
    """One shop, one model, one crowd; each seed has a shop of its own."""
    shop = Shop(19 + seed)
    low, high = engine(shop), supervised(shop)
    made = visit(shop, settings_of(body, seed), visits, seed, scaling)
    way = [(at, (ndcg - low) / (high - low)) for at, ndcg in made.curve]
    return {"seed": seed, "engine": low, "supervised": high, "curve": made.curve, "way": way[-1][1],
            "way_by_visits": way, "boldest": made.boldest, "fates": made.fates}  # fmt: skip


HEAD = """# A shop that learns

This page shows how fast the model from the README learns in a simulated shop (`benchmarks/shop/world.py`). The shop
has 2,000 products, 13 features on very different scales, and 50 candidates per search in an engine's order. Its
visitors have position bias and trust bias, and click about one and a half times per page; one page in ten is never
closed. Progress is measured in nDCG@10 on unseen searches: 0 is the engine, 1 is a supervised linear ranker trained on
every grade. Written by `make bench-shop`.
"""
FOOT = """
*Boldest*: the lowest position in the engine's order that reached rank 1 or 2 within the first hundred pages.
*README*: all 13 features, including the engine's score, and `"start": "incoming"`. *Order alone*: the same without the
engine's score. *Score named*: `"start": {"from": "incoming", "feature": "engine"}`, which starts from scores instead of
positions. *ROLTR*: the README's request with ROLTR and features scaled by query.
"""


def page(figures: dict[str, Any]) -> str:
    """The figures as a page of the documentation."""
    visits = [100, 250, 500, 1000, figures["visits"]]
    lines = ["| model | features sent | " + " | ".join(f"{v:,} visits" for v in visits) + " | boldest |"]
    lines.append("|---|---|" + "---|" * (len(visits) + 1))
    for row in figures["rows"]:
        ways = [dict(map(tuple, run["way_by_visits"])) for run in row["runs"]]
        cells = " | ".join(f"{np.mean([way[v] for way in ways]):.2f}" for v in visits)
        boldest = max(run["boldest"] for run in row["runs"])
        lines.append(f"| {row['model']} | {row['features']} | {cells} | {boldest} |")
    machine, shops = figures["machine"], len(figures["rows"][0]["runs"])
    told = f"Means over {shops} shops, at commit {figures['commit']}, {machine['cores']} × {machine['processor']}."
    return "\n".join([HEAD, *lines, FOOT, told, ""])


if __name__ == "__main__":
    main()
