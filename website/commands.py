"""docs/commands.md, written from the command line itself: `python -m website.commands`. A test compares the two."""

import inspect
import re
from pathlib import Path
from typing import Any

import typer

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
TITLE = """# Command line

Look up any command, its arguments and its options here, or with `--help`. Results go to standard output, progress to
standard error; `--json`, if available, prints one JSON document and nothing else. Exit codes: 0, success; 1, a run
of a study failed or a log is damaged; 2, a user error, explained in one sentence.

This page is written by `python -m website.commands`.
"""


def page() -> str:
    """The whole page."""
    from rankloop.cli import app

    root = typer.main.get_command(app)
    return "\n".join([TITLE, *_listing(root), "", *(line for each in _commands(root) for line in _section(*each))])


def _commands(group: Any, path: str = "rankloop") -> list[tuple[str, Any]]:
    """(full name, command) of everything that can be run, in the order of `--help`."""
    found = []
    for name, command in getattr(group, "commands", {}).items():
        full = f"{path} {name}"
        found += _commands(command, full) if hasattr(command, "commands") else [(full, command)]
    return found


def _listing(root: Any) -> list[str]:
    rows = [f"| [`{name}`](#{_anchor(name)}) | {_first_line(command)} |" for name, command in _commands(root)]
    return ["| command | |", "|---|---|", *rows]


def _section(name: str, command: Any) -> list[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
    usage = " ".join([name, *(_placeholder(each) for each in arguments), *(["[OPTIONS]"] if options else [])])
    lines = [f"## {name}", "", _paragraphs(command.help), "", "```text", usage, "```", ""]
    if command.params:
        lines += ["| | | default |", "|---|---|---|", *map(_row, [*arguments, *options]), ""]
    return lines


def _row(each: Any) -> str:
    if each.param_type_name == "argument":
        name = f"`{_placeholder(each)}`"
    else:
        name = ", ".join(f"`{flag}`" for flag in [*each.opts, *each.secondary_opts])
    helped = _cell(getattr(each, "help", None) or "")
    return f"| {name} | {helped} | {_default(each)} |"


def _placeholder(each: Any) -> str:
    name = (each.metavar or each.name).upper().strip("[]").removesuffix("...")
    return name if each.required else f"[{name}]"


def _default(each: Any) -> str:
    value = each.default
    if value is None or value is False or value in ((), [], "") or inspect.isclass(value) or callable(value):
        return "required" if each.required else ""
    if value is True:
        return f"`{each.opts[0]}`"
    return f"`{value}`"


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _first_line(command: Any) -> str:
    return _cell((command.help or "").split("\n\n")[0])


def _paragraphs(text: str | None) -> str:
    return "\n\n".join(_cell(part) for part in inspect.cleandoc(text or "").split("\n\n"))


def _cell(text: str) -> str:
    """One line of Markdown: rich's markup for commands becomes code, a bar does not end the cell."""
    plain = re.sub(r"\[/?(bold|cyan|green|dim|yellow|italic)\]", "`", " ".join(text.split()))
    return plain.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
