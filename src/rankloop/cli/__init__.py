"""The command line: one thin layer. Parse, call, print. Each file is named after its command.

What only one command needs is imported inside it. A mistake of the user's is a sentence on standard error and exit
code 2; results go to standard output, progress to standard error.
"""

import os
import sys
from typing import Any

import typer

from rankloop.cli.app import app
from rankloop.errors import RankloopError

# Each file registers its commands; this is their order in --help.
# isort: off
from rankloop.cli import run, results, queries, report, tune, bench, serve, replay, simulate_traffic, demo  # noqa: F401
from rankloop.cli import data, studies, export, connect, starting, keys, logs, refold, propensities  # noqa: F401
from rankloop.cli import models, experiment, challenger, table  # noqa: F401
# isort: on


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a `RankloopError` becomes a sentence and exit code 2."""
    try:
        code = app(args=arguments, prog_name="rankloop", standalone_mode=False)
        sys.stdout.flush()
    except RankloopError as error:
        code = _leave(f"rankloop: {error}", 2)
    except (KeyboardInterrupt, typer.Abort):
        code = _leave("rankloop: interrupted; finished work is kept", 130)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); nothing is wrong on our side.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        code = _leave(f"rankloop: {error.strerror}: {error.filename or 'standard output'}", 2)
    except Exception as error:
        # A mistake in the command itself: the parser's own exceptions know how to show themselves.
        if not hasattr(error, "show") or not hasattr(error, "exit_code"):
            raise
        code = _show(error)
    sys.exit(code or 0)


def _show(mistake: Any) -> int:
    """Let the parser say what is wrong with a command; a log in the wrong place with where it belongs."""
    if "unexpected extra arg" in str(mistake) and any("--store" in known.opts for known in mistake.ctx.command.params):
        mistake.message += ". The log is given with --store here"  # other commands take it as an argument
    mistake.show()
    return int(mistake.exit_code)


def _leave(sentence: str, code: int) -> int:
    typer.echo(sentence, err=True)
    return code
