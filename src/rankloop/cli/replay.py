"""`rankloop replay`: what would have been learned, and what it would have earned, as a table, JSON or a picture."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.app import Json, Plugin, app
from rankloop.cli.terminal import err, out, print_json, print_table, progress_after_a_while, table

if TYPE_CHECKING:
    from rankloop.logs.replay.estimating import Evaluation, Value
    from rankloop.logs.replay.replaying import Replayed
    from rankloop.offpolicy import Estimate

MOST_WEIGHTS = 12


@app.command()
def replay(
    log: Annotated[
        str, typer.Argument(help="A SQLite file, postgresql://…, or a file written by rankloop log export.")
    ],
    learner: Annotated[
        str | None, typer.Option(help="Another method, such as PDGD; the model's own by default.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model whose log to replay; needed if there are several.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="SETTING=VALUE for the learner, or scaling, start, late_updates, guards.X, actions.X."
        ),
    ] = None,
    begin: Annotated[
        int | None, typer.Option("--from", help="Start from the snapshot of this version; by default from scratch.")
    ] = None,
    evaluate: Annotated[float, typer.Option(help="Share of closed impressions to estimate on, newest first.")] = 0.3,
    at_most: Annotated[int, typer.Option(help="Evaluate at most this many of them, evenly spaced.")] = 10_000,
    eta: Annotated[
        float | None,
        typer.Option(help="Rank k is examined with probability (1/k)^eta; by default as the model assumes."),
    ] = None,
    clip: Annotated[float, typer.Option(help="The largest weight in clipped estimates.")] = 10.0,
    minimum_effective: Annotated[
        float, typer.Option(help="Minimum effective sample size for an estimate, in impressions.")
    ] = 100.0,
    picture: Annotated[Path | None, typer.Option(help="Write a plot: a .png, .svg or .pdf file.")] = None,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Replay a log with other settings or another learner: what it would have learned and earned.

    Nobody sees its pages. Example: [bold]rankloop replay shop.db --learner PDGD --set learning_rate=0.03[/bold].
    """
    from rankloop.logs.replay.picture import draw, require_drawable
    from rankloop.logs.replay.replaying import Options, replay

    options = Options(
        model=model, learner=learner, changes=tuple(set_ or ()), begin=begin, evaluate=evaluate, at_most=at_most,
        eta=eta, clip=clip, minimum_effective=minimum_effective,
    )  # fmt: skip
    if picture is not None:
        require_drawable(picture)
    with progress_after_a_while("replaying", shown=not json) as update:
        replayed = replay(log, options, update)
    if picture is not None:
        draw(replayed, picture)
    if json:
        print_json(replayed)
        return
    out.print(f"{replayed.conclusion.verdict}:", markup=False)
    for sentence in replayed.conclusion.sentences:
        out.print(f"- {sentence}", markup=False)
    out.print()
    _show_learned(replayed)
    if replayed.evaluation is not None:
        out.print()
        _show_evaluation(replayed, replayed.evaluation)
    if picture is not None:
        out.print(f"\n{picture}", markup=False)


def _show_learned(replayed: "Replayed") -> None:
    from rankloop.learners import from_settings

    learner = from_settings(replayed.settings["learner"])
    settings = "the model's own settings" if replayed.own_settings else repr(learner)
    out.print(f"{replayed.model}, replayed from {replayed.begins} with {settings}", markup=False)
    fates = ", ".join(f"{count:,} {fate}" for fate, count in sorted(replayed.fates.items(), key=lambda fate: -fate[1]))
    out.print(f"of {replayed.closings:,} closed impressions: {fates or 'none in this part'}")
    for what, count in replayed.passed_over.items():
        out.print(f"skipped, because it concerns the live model's own state: {what.replace('_', ' ')}, {count:,} ×")
    if replayed.same_bits:
        out.print("the weights equal those of the live model, bit for bit")
    elif replayed.distance is None:
        out.print("the live model has a different kind of ranker: no weights to compare")
        out.print()
        return
    else:
        angle = "" if replayed.cosine is None else f", cosine {replayed.cosine:.3f}"
        out.print(f"distance to the live model's weights {replayed.distance:.4g}{angle}")
    out.print()
    made = table("feature", "replayed", "live", "difference")
    rows = zip(replayed.features, replayed.weights, replayed.live_weights, strict=True)
    for name, mine, theirs in sorted(rows, key=lambda row: -abs(row[1] - row[2]))[:MOST_WEIGHTS]:
        made.add_row(name, f"{mine:.4f}", f"{theirs:.4f}", f"{mine - theirs:+.4f}")
    print_table(made)
    if len(replayed.features) > MOST_WEIGHTS:
        out.print(f"… and {len(replayed.features) - MOST_WEIGHTS:,} more that differ less (--json has all)")


def _show_evaluation(replayed: "Replayed", evaluation: "Evaluation") -> None:
    from rankloop.logs.replay.replaying import LIVE_NOW

    since = datetime.fromtimestamp((replayed.split_at or 0) / 1000, UTC).isoformat(" ", "seconds")
    out.print(
        f"{evaluation.unit} per page on {evaluation.impressions:,} impressions closed since {since}, after "
        f"{replayed.learned_before_split:,} that the replay had learned from"
    )
    for why, count in evaluation.left_out.items():
        out.print(f"left out: {count:,}, {why}", markup=False)
    print_values("policy", evaluation.values)
    if evaluation.differences:
        out.print()
        print_values("difference", evaluation.differences)
    if any(value.policy == LIVE_NOW for value in evaluation.values):
        out.print(f"\n{LIVE_NOW}: it has learned from these very impressions, which flatters it")
    print_refusals(evaluation.values, " ".join(replayed.conclusion.sentences))


def print_values(title: str, values: "list[Value]") -> None:
    """A table of estimates: one line for each policy and estimator, one column for each way to treat weights."""
    shown = list(dict.fromkeys(value.method for value in values))
    made = table(title, "estimator", *shown, "worth")
    made.columns[1].justify = "left"
    rows: dict[tuple[str, str], dict[str, Estimate]] = {}
    for value in values:
        rows.setdefault((value.policy, value.estimator), {})[value.method] = value.estimate
    for (policy, estimator), methods in rows.items():
        cells = [_cell(methods.get(method)) for method in shown]
        made.add_row(policy, estimator, *cells, f"{next(iter(methods.values())).effective_sample_size:,.0f}")
    print_table(made)


def print_refusals(values: "list[Value]", said: str = "") -> None:
    """Why there is no value, where it was refused: each kind of reason once, with the figures of the first; and not
    again if it was `said` before."""
    reasons: dict[str, tuple[str, list[str]]] = {}
    for value in values:
        if reason := value.estimate.reason:
            # Before the colon stand the figures of one estimate, after it what they mean.
            kind = reason.partition(": ")[2] or reason
            if kind in said:
                continue
            reasons.setdefault(kind, (reason, []))[1].append(f"{value.policy}, {value.estimator}")
    for reason, refused in reasons.values():
        err.print(f"refused: {'; '.join(dict.fromkeys(refused))}: {reason}", markup=False)


def _cell(estimate: "Estimate | None") -> str:
    if estimate is None:
        return ""
    if estimate.value is None:
        return "refused"
    return f"{estimate.value:.4f} ({estimate.low:.4f} to {estimate.high:.4f})"
