"""`rankloop connect`: what a search engine needs to re-rank with a live model, as files to send to it."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.app import app
from rankloop.cli.terminal import out


@app.command()
def connect(
    engine: Annotated[str, typer.Argument(help="opensearch or elasticsearch.")],
    feature: Annotated[
        list[str],
        typer.Option(
            help="price (a number of the documents), price=field:net_price, title=match:title (a text score), "
            "meaning=knn:embedding (a vector's), _score or bm25=_score (the engine's own); repeat it for each feature."
        ),
    ],
    model: Annotated[str, typer.Option(help="The live model.")] = "search",
    url: Annotated[str, typer.Option(help="The service's URL, as the engine sees it.")] = "http://localhost:8080",
    id_field: Annotated[str, typer.Option(help="The field that holds document ids; _id is not in _source.")] = "id",
    query_path: Annotated[
        str | None,
        typer.Option(
            help="The path of the query text in a search, such as $._request.query.multi_match.query, for the log."
        ),
    ] = None,
    folder: Annotated[Path, typer.Option("--out", help="The folder to write to.")] = Path("rankloop-connection"),
) -> None:
    """Write the requests that make a search engine re-rank with a live model: feature set, search, connector, pipeline.

    The formats follow the engines' documentation; check the files before you send them.
    """
    from rankloop.files import write_text
    from rankloop.interchange.connecting import Connection, connection_files
    from rankloop.interchange.rankers import json_text

    files = connection_files(engine, Connection.of(model, url, feature, id_field, query_path))
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_text(folder / name, [json_text(content)])
        out.print(f"{folder / name}: {content['request']}", markup=False)
