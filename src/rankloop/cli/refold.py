"""`rankloop log refold`: compute a model's weights anew, show how much would change, and serve them if agreed."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.app import Json, Plugin
from rankloop.cli.logs import Store, commands, in_events, refold_command, show_checked
from rankloop.cli.replay import print_refusals, print_values
from rankloop.cli.terminal import out, print_json
from rankloop.cli.terminal import progress_after_a_while as progress

if TYPE_CHECKING:
    from rankloop.logs.comparing import Difference
    from rankloop.logs.refolding import Refolded


@commands.command()
def refold(
    store: Store,
    model: Annotated[str, typer.Option(help="The model to recompute.")],
    yes: Annotated[bool, typer.Option("--yes", help="Serve the new weights, however much they differ.")] = False,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget", help="Delete the snapshots that may have learned from erased data; this cannot be undone."
        ),
    ] = False,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Recompute a model's weights from what is left in the log, show what would change, and serve them if confirmed.

    The log is verified, and both states are compared on pages that people were shown. Nothing is served until somebody
    agrees, here or with --yes; then a service that is learning goes on from the new weights. Exit code 1: not agreed.
    """
    from rankloop.live.events import now
    from rankloop.logs.refolding import refolding
    from rankloop.logs.verifying import verify

    with refolding(store, model) as work:
        with progress("verifying", shown=not json) as update:
            checked = verify(store, update, only=model)
        with progress("folding", shown=not json) as update:
            difference = work.compare(update)
        if not json:
            show_checked(checked)
            out.print(
                f"\n{model}, recomputed from {work.begins}, with {work.learned:,} learned impressions", markup=False
            )
            if work.remembers:
                out.print(
                    "they go on from a state that may have learned from what was erased, and the log no longer holds "
                    "what it was computed from: so may the new weights"
                )
            if work.redrawn:
                out.print(
                    f"{work.redrawn:,} of them would have had another order without what was erased; their documents "
                    "count as standing in that order"
                )
            if work.is_damaged:
                out.print("the kept state cannot be read; until this one is served, pages come in the incoming order")
            else:
                _show_difference(difference)
                out.print(f"\n{difference.conclusion}")
        agreed = yes or difference.same_bits or _agrees(json, "serve the new weights?")
        done = work.serve(now(), forget=forget) if agreed else None
    if json:
        print_json({"verified": checked, "difference": difference, "refolded": done})
    else:
        out.print(_outcome(done, model, store), markup=False)
    if done is None:
        raise typer.Exit(1)


def _agrees(json: bool, question: str) -> bool:
    """Whether somebody at a terminal says so; nobody else is asked."""
    return not json and _at_a_terminal() and typer.confirm(question)


def _at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _show_difference(difference: "Difference") -> None:
    from rankloop.logs.comparing import NOW

    if difference.same_bits:
        out.print("the weights equal those being served, bit for bit")
        return
    angle = "" if difference.cosine is None else f", cosine {difference.cosine:.4f}"
    share = "" if difference.relative is None else f", {difference.relative:.1%} of their length"
    out.print(f"its weights would move by {difference.distance:.4g}{share}{angle}")
    if difference.orders:
        out.print(str(difference.orders))
    if difference.evaluation is None:
        out.print("clicks per page: there are no held-out pages to estimate them on")
        return
    out.print(
        f"\nclicks per page, estimated on {difference.evaluation.impressions:,} of them; neither state had learned "
        f"from them then"
    )
    print_values("weights", difference.evaluation.values)
    if between := [value for value in difference.evaluation.differences if NOW in value.policy]:
        print_values("difference", between)
    print_refusals(difference.evaluation.values)


def _outcome(done: "Refolded | None", model: str, store: str) -> str:
    if done is None:
        return "\nnothing was changed, and no snapshot deleted; to serve the new weights, confirm with --yes"
    said = f"\n{model} goes on from them"
    if done.version is None:
        said += "; the service has not kept the new state yet: run this again later"
    if done.remembers:
        said += "\nthey may still reflect what was erased; only a new model certainly does not"
    if done.forgotten:
        said += f"\n{done.forgotten:,} snapshots, damaged or with the old weights, were forgotten"
    if done.remembering:
        said += (
            f"\n{done.remembering:,} snapshots that may have learned from what was erased are kept, to roll back to;\n"
            f"once nobody needs that any more: {refold_command(store, model)} --forget"
        )
    if done.remembering_events:
        said += f"\n{in_events(done.remembering_events, model)}"
    if done.kept_states:
        said += f"\nthe log returns {done.kept_states:,} times to a state of unknown place; those stay as they were"
    if done.lost_states:
        said += f"\nthe log returns {done.lost_states:,} times to a state that cannot be read; those were passed over"
    return said
