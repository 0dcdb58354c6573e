"""`rankloop study`: the studies that come with rankloop, and a new one to start from."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.app import Json, group
from rankloop.cli.terminal import print_json, print_table, table
from rankloop.errors import DataError, SettingsError

commands = group("study", "List, print and create studies.")


@commands.command("list")
def list_(json: Json = False) -> None:
    """List the studies that come with rankloop."""
    from rankloop.studies.specification import cells, load_study, names

    if json:
        print_json([{"name": name, "question": load_study(name).question} for name in names()])
        return
    made = table("study", "runs", "question")
    made.columns[2].justify = "left"
    for name in names():
        study = load_study(name)
        made.add_row(name, f"{len(cells(study)):,}", study.question)
    print_table(made)


@commands.command()
def show(name: Annotated[str, typer.Argument(help="A study by name, or a .toml file.")]) -> None:
    """Print a study's file: copy it, change it, run it."""
    from rankloop.studies.specification import load_study, text_of

    if name.endswith(".toml"):
        load_study(name)
        typer.echo(Path(name).read_text(encoding="utf-8"), nl=False)
    else:
        typer.echo(text_of(name), nl=False)


@commands.command()
def new(path: Annotated[Path, typer.Argument(help="The file to write, ending in .toml.")]) -> None:
    """Write a small study to start from."""
    if path.suffix != ".toml":
        raise SettingsError(f"a study file ends in .toml; got {path}")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEMPLATE.format(name=path.stem))
    except FileExistsError:
        raise SettingsError(f"{path} already exists; choose another name") from None
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None
    typer.echo(f"wrote {path}; run it with: rankloop run {path}")


_TEMPLATE = """\
# A study: learners × users × collections × repeats. Run it with: rankloop run {name}.toml
name = "{name}"
title = "ROLTR with and without unbiased rewards"
question = "Does reward shaping help on my data?"
impressions = 10_000        # pages shown per run
repeats = 5                 # runs per cell, with different seeds; spread over the folds
evaluate_every = 500        # impressions between two points of the learning curve
metrics = ["ndcg", "map"]   # ndcg, ndcg-linear, err, p, mrr, map, with @k if you like; tables show the first
users = ["perfect", "noisy"]

# A synthetic world, a name from `rankloop data list`, or a path.
collections = [{{ data = "mslr-like", scale = 0.1 }}]

[[grids]]
name = "rewards"
title = "Unbiased against naive rewards"
learners = [
  {{ learner = "ROLTR", reward = "ips+-", label = "ips" }},
  {{ learner = "ROLTR", reward = "naive+-", label = "naive" }},
  {{ learner = "PDGD" }},
]
"""
