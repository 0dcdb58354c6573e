"""What do late clicks cost? Two learners, updates that arrive 10 to 3,000 impressions late, and two ways to use them.

The numbers and the picture of docs/late-clicks.md:

    python examples/late_clicks.py --seeds 20 --picture docs/images/late-clicks.png
"""

import argparse

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

import rankloop as rl

DELAYS = (10, 30, 100, 300, 1_000, 3_000)
LEARNERS = (rl.ROLTR(), rl.PDGD())
SCORES = {"current": "#D55E00", "drawn": "#0072B2"}
MEASURES = ("online", "offline")


def measured(learner, data, impressions, seeds, delay=0, late_scores="current"):
    """(seeds, 2): online and offline nDCG of each run."""
    runs = [
        rl.simulate(
            learner, rl.users.noisy(), data, impressions, seed, delay=delay, late_scores=late_scores,
            evaluate_every=impressions,
        )
        for seed in seeds
    ]  # fmt: skip
    return np.array([(run.online_ndcg, run.offline_ndcg) for run in runs])


def interval(values):
    """Mean and half-width of its 95 % t-interval, per column."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return values.mean(axis=0), half


def told(values, row):
    """Mean change and its interval, as a table says it."""
    mean, half = (array[row] for array in interval(values))
    digits = (1, 4)[row]
    return f"{mean:+.{digits}f} ± {half:.{digits}f}".replace("-", "−")


def draw(changes, path):
    """Columns are learners; above what people saw, below what was learned."""
    drawing = Figure(figsize=(9, 5.5), layout="constrained")
    axes = drawing.subplots(2, len(LEARNERS), sharex=True, sharey="row")
    for column, learner in enumerate(LEARNERS):
        axes[0, column].set_title(learner.name, loc="left")
        axes[1, column].set_xlabel("updates arrive so many impressions late")
        for row, measure in enumerate(MEASURES):
            axis = axes[row, column]
            axis.axhline(0, color="#555555", linewidth=0.8)
            for place, (scores, colour) in enumerate(SCORES.items()):
                mean, half = np.array([interval(changes[learner, delay][scores]) for delay in DELAYS])[:, :, row].T
                shifted = np.array(DELAYS) * (0.97 + 0.06 * place)
                label = f"against the {'scores that drew the page' if place else 'current scores'}"
                axis.errorbar(shifted, mean, half, color=colour, marker="o", markersize=3, capsize=2, label=label)
            axis.set_xscale("log")
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
            if column == 0:
                axis.set_ylabel(f"{measure} nDCG@10, change")
    axes[0, 0].legend(frameon=False, fontsize=9)
    drawing.savefig(path, dpi=130)


def main():
    """Run everything and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--seeds", type=int, default=3, help="runs of each kind")
    arguments.add_argument("--impressions", type=int, default=10_000, help="pages shown in each run")
    arguments.add_argument("--picture", help="the file to draw to")
    given = arguments.parse_args()
    seeds = range(1, given.seeds + 1)
    data = rl.load("mslr-like", scale=0.05)
    changes = {}
    head = "learner", "delay", "online, current", "online, drawing", "drawing − current", "offline, current"
    print(f"| {' | '.join(head)} | offline, drawing |")
    print("|---|---|---|---|---|---|---|")
    for learner in LEARNERS:
        prompt = measured(learner, data, given.impressions, seeds)
        (online, offline), (moves, varies) = prompt.mean(axis=0), prompt.std(axis=0, ddof=1)
        print(f"| {learner.name} | 0 | {online:.1f} (s = {moves:.1f}) | | | {offline:.4f} (s = {varies:.4f}) | |")
        for delay in DELAYS:
            late = (measured(learner, data, given.impressions, seeds, delay, scores) for scores in SCORES)
            current, drawn = (values - prompt for values in late)
            changes[learner, delay] = {"current": current, "drawn": drawn}
            cells = [told(current, 0), told(drawn, 0), told(drawn - current, 0), told(current, 1), told(drawn, 1)]
            print(f"| {learner.name} | {delay:,} | {' | '.join(cells)} |")
    if given.picture:
        draw(changes, given.picture)


if __name__ == "__main__":
    main()
