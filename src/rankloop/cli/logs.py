"""`rankloop log`: move a log, check it, keep it small; call, and say what was done."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.app import Json, Plugin, group
from rankloop.cli.terminal import err, out, print_json, print_table, table
from rankloop.cli.terminal import progress_after_a_while as progress
from rankloop.display import counted, percent, size
from rankloop.errors import SettingsError

if TYPE_CHECKING:
    from rankloop.logs.verifying import Verified

MOST_PROBLEMS = 10
LEFT = """
- sums behind the dashboard, in which nobody can be identified
- states that somebody rolled back or refolded to, in the log's events of that, until compact deletes those
- backups and exports made before"""

commands = group("log", "Back up, move, verify, compact or erase a service's log, even while the service runs.")

Store = Annotated[str, typer.Argument(help="The log: a SQLite file, or postgresql://…")]
NewStore = Annotated[str, typer.Argument(help="The new log: a SQLite file, or an empty database, postgresql://…")]
NewFile = Annotated[Path, typer.Argument(help="The file to write.")]


@commands.command()
def export(
    store: Store,
    file: NewFile,
    form: Annotated[
        str,
        typer.Option(
            "--format", help="rankloop (everything), clicks (Parquet), ubi (for _bulk), ubi-queries, ubi-events."
        ),
    ] = "rankloop",
    model: Annotated[str | None, typer.Option(help="For clicks and UBI: the pages of this model only.")] = None,
    json: Json = False,
) -> None:
    """Write the whole log into one file with a checksum; or pages and clicks as UBI 1.3 or Parquet.

    The file is as secret as the log: it holds keys' hashes and the secrets that sign impression ids.
    """
    from rankloop.live.events import now
    from rankloop.logs.access import at_one_moment
    from rankloop.logs.click_file import write_click_log
    from rankloop.logs.exported import write_export
    from rankloop.logs.ubi_file import FORMS, write_ubi
    from rankloop.settings import require_choice

    require_choice("export", "format", form, ("rankloop", "clicks", *FORMS))
    if form == "rankloop" and model is not None:
        raise SettingsError("export: --model works with the other formats; this one exports the whole log")
    with progress("exporting", shown=not json) as update, at_one_moment(store) as log:
        if form == "rankloop":
            counts = write_export(log, file, now(), update)
        elif form == "clicks":
            counts = write_click_log(log, file, model, update)
        else:
            counts = write_ubi(log, file, form, model, update)
    _say(json, _counted(file, counts), f"{file}: {_listed(counts)}, {size(file.stat().st_size)}")


@commands.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A file written by `rankloop log export`.")],
    store: NewStore,
    json: Json = False,
) -> None:
    """Import an exported log into an empty store of either kind, all or nothing."""
    from rankloop.logs.importing import import_log

    with progress("importing", shown=not json) as update:
        counts = import_log(file, store, progress=update)
    _say(json, {"counts": counts}, f"imported {_listed(counts)}")


@commands.command()
def verify(store: Store, plugin: Plugin = None, json: Json = False) -> None:
    """Check every event, fold the log again and compare with every snapshot, bit by bit; exit code 1 if something is
    wrong."""
    from rankloop.logs.verifying import verify

    with progress("verifying", shown=not json) as update:
        checked = verify(store, update)
    if json:
        print_json(checked)
    else:
        show_checked(checked)
        for model in checked.models:
            if model.remembers:
                said = f"what was erased may still be in the weights of {model.name}, until: "
                out.print(f"{said}{refold_command(store, model.name)}", markup=False)
            if model.remembering_events:
                out.print(in_events(model.remembering_events, model.name), markup=False)
    if checked.problems:
        raise typer.Exit(1)


@commands.command()
def compact(
    store: Store,
    keep_days: Annotated[float, typer.Option(help="Delete older events, unless a model needs them.")],
    json: Json = False,
) -> None:
    """Delete old events and snapshots. What models have learned stays, and so do the counts on the dashboard."""
    from rankloop.live.events import now
    from rankloop.logs.trimming import compact

    with progress("compacting", shown=not json) as update:
        done = compact(store, keep_days, now(), update)
    said = f"deleted {done.events:,} events and {done.snapshots:,} snapshots before {done.first_offset:,}; "
    said += f"the disk got {size(done.freed_bytes)} back" if done.shrunk else "the space is reused for new events"
    _say(json, done, said)


@commands.command()
def backup(store: Store, file: NewFile, json: Json = False) -> None:
    """Make a consistent copy while the service runs: a SQLite file, or an export of a PostgreSQL log."""
    from rankloop.live.events import now
    from rankloop.logs.importing import back_up

    with progress("backing up", shown=not json) as update:
        counts = back_up(store, file, now(), update)
    _say(json, _counted(file, counts), f"{file}: {_listed(counts)}, {size(file.stat().st_size)}")


@commands.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A file written by `rankloop log backup`.")],
    store: NewStore,
    json: Json = False,
) -> None:
    """Create a new log from a backup; an existing one is never overwritten."""
    from rankloop.logs.importing import restore

    with progress("restoring", shown=not json) as update:
        counts = restore(file, store, update)
    _say(json, {"counts": counts}, f"restored {_listed(counts)}")


@commands.command()
def erase(
    store: Store,
    client: Annotated[str | None, typer.Option(help="The client, as it was sent with rank requests.")] = None,
    clients: Annotated[
        Path | None, typer.Option(help="A file with one client per line, or hash:… as `suspects` writes them.")
    ] = None,
    json: Json = False,
) -> None:
    """Erase people's impressions and clicks. Weights stay until a refold."""
    from rankloop.logs.trimming import erase, read_clients

    if (client is None) == (clients is None):
        raise SettingsError("erase: give one client with --client, or a file of them with --clients")
    done = erase(store, *(read_clients(clients) if clients is not None else [client or ""]))
    if not done.impressions:
        called = f"a client called {client!r}" if client is not None else f"any client in {clients}"
        said = f"nothing was erased: no page in this log was shown to {called}"
    else:
        said = f"erased {counted(done.impressions, 'impression')} with their clicks; what is left of them:"
        for model in done.models:
            said += f"\n- the weights and snapshots of {model}, until: {refold_command(store, model)} --forget"
        said += LEFT
    _say(json, done, said)


@commands.command()
def suspects(
    store: Store,
    model: Annotated[str, typer.Option(help="The model.")],
    pages: Annotated[int, typer.Option(min=1, help="How many of its newest pages to look at.")] = 20_000,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write the suspects to this file, for `erase --clients`.")
    ] = None,
    json: Json = False,
) -> None:
    """Find clients who click for one feature or one document as nobody else does; exit code 1 if there are any.

    Look at them before you erase anything: unusual taste is not abuse.
    """
    from rankloop.logs.suspecting import find_suspects

    found = find_suspects(store, model, pages)
    if out_file is not None and found.found:
        out_file.write_text("\n".join(found.everybody) + "\n", encoding="utf-8")
    said = f"looked at {counted(found.pages, 'page')} of {counted(found.clients, 'client')} with a name: "
    said += f"{counted(len(found.everybody), 'suspect')}" if found.found else "nobody stands out"
    for one in found.found:
        what = f"for {one.direction} {one.name}" if one.kind == "feature" else f"for the document {one.name}"
        said += f"\n- {counted(len(one.clients), 'client')} ({percent(one.pages)} of the pages) click {what}: "
        said += f"{percent(one.gain)} of what speaks for it"
    _say(json, found, said)
    if found.found:
        raise typer.Exit(1)


def refold_command(store: str, model: str) -> str:
    """What to type to compute a model's weights anew; a server's address may hold a password, and is not repeated."""
    from rankloop.live.stores import is_server

    return f"rankloop log refold {'postgresql://…' if is_server(store) else shlex.quote(store)} --model {model}"


def in_events(count: int, model: str) -> str:
    """That a refold does not reach everything."""
    return (
        f"what was erased may still be in {counted(count, 'state')} that {model} once returned to, in the log's events "
        f"of rollbacks, refolds and promotions, until compact deletes those"
    )


def show_checked(checked: "Verified") -> None:
    """What was found, in words."""
    if checked.models:
        made = table("model", "events folded", "snapshots", "computed again", "different", "from")
        for model in checked.models:
            counts = (model.folded, model.snapshots, model.checked, model.different)
            made.add_row(model.name, *(f"{count:,}" for count in counts), model.begins)
        print_table(made)
        for model in checked.models:
            if model.after_erasure:
                lost = counted(model.after_erasure, "snapshot")
                out.print(f"{model.name}: {lost} could not be computed again: erased pages", markup=False)
    if checked.unchecked:
        out.print(
            f"{counted(checked.unchecked, 'event')} could not be held against a digest, because older versions wrote "
            f"none: of those, only what a model learned from is checked",
            markup=False,
        )
    for problem in checked.problems[:MOST_PROBLEMS]:
        err.print(f"wrong: {problem}", markup=False)
    if len(checked.problems) > MOST_PROBLEMS:
        err.print(f"… and {len(checked.problems) - MOST_PROBLEMS:,} more (--json has all)")
    if not checked.problems:
        out.print(f"{checked.events:,} events up to {checked.last_offset:,}: nothing is wrong")


def _say(json: bool, document: Any, said: str) -> None:
    if json:
        print_json(document)
    else:
        out.print(said, markup=False)


def _counted(path: Path, counts: dict[str, int]) -> dict[str, Any]:
    return {"file": str(path), "bytes": path.stat().st_size, "counts": counts}


def _listed(counts: dict[str, int]) -> str:
    named = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    return ", ".join(named) or "nothing"
