"""`rankloop bench`: speed and memory on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.app import Json, app
from rankloop.cli.terminal import out as stdout
from rankloop.cli.terminal import print_json, print_table, progress_in_steps, table
from rankloop.settings import require_choice


@app.command()
def bench(
    quick: Annotated[bool, typer.Option(help="A small working set, for a quick look.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
    on: Annotated[
        str, typer.Option(help="Where to run: `cpu`, or `gpu` for many runs in parallel on a CUDA device.")
    ] = "cpu",
    json: Json = False,
) -> None:
    """Measure speed and memory as ratios in one run: against reading memory, NumPy and scikit-learn."""
    from rankloop.benchmark import devices, measuring

    require_choice("bench", "on", on, ("cpu", "gpu"))
    place = devices if on == "gpu" else measuring
    if place is devices:
        devices.require_device()
    if out is not None:
        out.open("a").close()  # better to fail now than after all the measuring
    with progress_in_steps("measuring", len(place.PARTS)) as advance:
        results = place.run(quick=quick, progress=advance)
    if out is not None:
        out.write_text(measuring.as_markdown(results))
    if json:
        print_json(results)
        return
    for section in results.sections:
        made = table(*section.columns, title=section.title)
        for row in section.rows:
            made.add_row(*row)
        print_table(made)
        stdout.print()
