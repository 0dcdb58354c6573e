"""`rankloop replay`: what would have been learned, and what it would have earned, as a table, JSON or a picture."""

from datetime import UTC, datetime
from pathlib import Path

from rankloop.cli.terminal import err, out, print_json, print_table, table
from rankloop.learners import from_settings
from rankloop.logs.progress import progress_after_a_while
from rankloop.logs.replay.estimating import Evaluation, Value
from rankloop.logs.replay.picture import draw, require_drawable
from rankloop.logs.replay.replaying import LIVE_NOW, Options, Replayed, replay
from rankloop.offpolicy import Estimate

MOST_WEIGHTS = 12


def main(log: str, options: Options, *, json: bool, picture: Path | None) -> None:
    """Replay, and say what came out."""
    if picture is not None:
        require_drawable(picture)
    with progress_after_a_while("replaying", shown=not json) as tell:
        found = replay(log, options, tell)
    if picture is not None:
        draw(found, picture)
    if json:
        print_json(found)
        return
    _tell_learned(found)
    if found.evaluation is not None:
        out.print()
        _tell_evaluation(found, found.evaluation)
    if picture is not None:
        out.print(f"\n{picture}", markup=False)


def _tell_learned(found: Replayed) -> None:
    learner = from_settings(found.settings["learner"])
    told = "the model's own settings" if found.own_settings else repr(learner)
    out.print(f"{found.model}, replayed from {found.begins} with {told}", markup=False)
    fates = ", ".join(f"{count:,} {fate}" for fate, count in sorted(found.fates.items(), key=lambda fate: -fate[1]))
    out.print(f"of {found.closings:,} closed impressions: {fates or 'none in this part'}")
    for what, count in found.passed_over.items():
        out.print(f"passed over, because it is about the live model's own state: {what.replace('_', ' ')}, {count:,} ×")
    if found.same_bits:
        out.print("the weights are those of the live model, in every bit")
    else:
        angle = "" if found.cosine is None else f", cosine {found.cosine:.3f}"
        out.print(f"distance to the live model's weights {found.distance:.4g}{angle}")
    out.print()
    made = table("feature", "replayed", "live", "difference")
    rows = zip(found.features, found.weights, found.live_weights, strict=True)
    for name, mine, theirs in sorted(rows, key=lambda row: -abs(row[1] - row[2]))[:MOST_WEIGHTS]:
        made.add_row(name, f"{mine:.4f}", f"{theirs:.4f}", f"{mine - theirs:+.4f}")
    print_table(made)
    if len(found.features) > MOST_WEIGHTS:
        out.print(f"… and {len(found.features) - MOST_WEIGHTS:,} features that differ less (--json has all)")


def _tell_evaluation(found: Replayed, evaluation: Evaluation) -> None:
    since = datetime.fromtimestamp((found.split_at or 0) / 1000, UTC).isoformat(" ", "seconds")
    out.print(
        f"clicks per page on {evaluation.impressions:,} impressions closed since {since}, after "
        f"{found.learned_before_split:,} that the replay had learned from"
    )
    for why, count in evaluation.left_out.items():
        out.print(f"left out: {count:,}, {why}", markup=False)
    _print_values("policy", evaluation.values)
    if evaluation.differences:
        out.print()
        _print_values("difference", evaluation.differences)
    if any(value.policy == LIVE_NOW for value in evaluation.values):
        out.print(f"\n{LIVE_NOW}: it has learned from these very impressions, which flatters it")
    refused = [value for value in evaluation.values if value.estimate.reason]
    for value in refused:
        err.print(f"refused: {value.policy}, {value.estimator}, {value.method}: {value.estimate.reason}", markup=False)


def _print_values(title: str, values: list[Value]) -> None:
    made = table(title, "estimator", "plain", "clipped", "self-normalised", "worth")
    made.columns[1].justify = "left"
    rows: dict[tuple[str, str], dict[str, Estimate]] = {}
    for value in values:
        rows.setdefault((value.policy, value.estimator), {})[value.method] = value.estimate
    for (policy, estimator), methods in rows.items():
        cells = [_cell(methods.get(method)) for method in ("plain", "clipped", "self-normalised")]
        made.add_row(policy, estimator, *cells, f"{methods['plain'].effective_sample_size:,.0f}")
    print_table(made)


def _cell(found: Estimate | None) -> str:
    if found is None:
        return ""
    if found.value is None:
        return "refused"
    return f"{found.value:.4f} ({found.low:.4f} to {found.high:.4f})"
