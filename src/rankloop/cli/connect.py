"""`rankloop connect`: what a search engine needs to re-rank with a live model, as files to send to it."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.app import app
from rankloop.cli.terminal import err, out
from rankloop.errors import SettingsError


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
    from rankloop.interchange.connecting import Connection, connection_files, left_behind
    from rankloop.interchange.rankers import json_text

    connection = Connection.of(model, url, feature, id_field, query_path)
    files = connection_files(engine, connection)
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"connect: --out {folder} is a file; give a folder, which is made if it is not there")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_text(folder / name, [json_text(content)])
        out.print(f"{folder / name}: {content['request']}", markup=False)
    for sentence in left_behind(engine, connection):
        err.print(sentence, markup=False)
