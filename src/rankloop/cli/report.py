"""`rankloop report`: write a report anew, or show reports as pages."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.app import Against, Generalise, app
from rankloop.cli.terminal import err, open_browser

if TYPE_CHECKING:
    from rankloop.studies.records import Results


@app.command()
def report(
    folder: Annotated[
        Path, typer.Argument(help="A results folder, such as results/quick; with --serve, also a folder with several.")
    ],
    metric: Annotated[
        str | None, typer.Option(help="The metric to show in tables and figures; the study's first by default.")
    ] = None,
    figures: Annotated[
        list[str] | None,
        typer.Option(help="Also write figures for print (pdf, svg or png) to FOLDER/paper; may be repeated."),
    ] = None,
    width: Annotated[
        str | None, typer.Option(help="Width of a printed figure: 3.3in, 8.4cm, 84mm or 240pt; 7in by default.")
    ] = None,
    height: Annotated[
        str | None, typer.Option(help="Height of a printed figure; as high as needed by default.")
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the reports as web pages on this machine.")] = False,
    host: Annotated[str, typer.Option(help="With --serve: a local address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --serve: the port; 0 picks a free one.")] = 8100,
    browser: Annotated[bool, typer.Option(help="With --serve: open the pages in a browser.")] = True,
    against: Against = None,
    generalise_to: Generalise = "this-collection",
) -> None:
    """Rewrite the report of a results folder (report.html, figures, tables), or browse existing reports.

    [bold]rankloop report results/quick --figures pdf --width 8.4cm[/bold] draws the figures for a column of a paper.
    [bold]rankloop report results --serve[/bold] shows every study below results, also one that is still running.
    """
    from rankloop.cli.results import read_as
    from rankloop.studies.records import read_results
    from rankloop.studies.report import write

    if serve:
        _serve(folder, host, port, browser)
        return
    results = read_as(read_results(folder), against, generalise_to)
    if figures or width or height:
        _for_print(results.by(metric), folder, figures or ["pdf"], width or "7in", height)
    typer.echo(str(write(results, folder, metric)))


def _for_print(results: "Results", folder: Path, kinds: list[str], width: str, height: str | None) -> None:
    from rankloop.display.pictures import FORMATS, Size
    from rankloop.settings import require_choice
    from rankloop.studies.report import write_for_print

    for kind in kinds:
        require_choice("report", "figures", kind, FORMATS)
    for path in write_for_print(results, folder / "paper", list(dict.fromkeys(kinds)), Size.of(width, height)):
        typer.echo(str(path))


def _serve(folder: Path, host: str, port: int, browser: bool) -> None:
    from rankloop.web.studies import find_studies, serve_studies

    def ready(address: str) -> None:
        number = len(find_studies(folder))
        studies = f"{number} {'study' if number == 1 else 'studies'} of {folder}"
        what = studies if number else f"{folder}, which has no studies yet,"
        err.print(f"rankloop shows {what} on {address}   (Ctrl-C stops it)", markup=False)
        if browser:
            open_browser(address)  # the system queues the request until the server answers

    serve_studies(folder, host=host, port=port, ready=ready)
