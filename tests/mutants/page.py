"""What came of the mutants: raw JSON, and a page for people."""

import json
import os
import platform
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.mutants.patches import Mutant

Verdicts = dict[str, dict[str, Any]]


def read(path: Path) -> Verdicts:
    """The verdicts so far, by the mutants' names."""
    return json.loads(path.read_text(encoding="utf-8"))["verdicts"] if path.exists() else {}


def write(path: Path, verdicts: Verdicts) -> None:
    """All verdicts, whole or not at all."""
    document = {"machine": machine(), "verdicts": dict(sorted(verdicts.items()))}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)


def machine() -> dict[str, Any]:
    """Where this ran."""
    return {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}


def today() -> str:
    """The date, as it stands in a verdict."""
    return datetime.now(UTC).date().isoformat()


def markdown(mutants: list[Mutant], verdicts: Verdicts) -> str:
    """The page: a table by room, and every survivor with what is wrong about it."""
    judged = [mutant for mutant in mutants if mutant.name in verdicts and not mutant.equivalent]
    caught = [mutant for mutant in judged if verdicts[mutant.name]["caught"]]
    beyond = [mutant for mutant in caught if verdicts[mutant.name]["by"] != "related tests"]
    commits = sorted({(verdicts[mutant.name]["date"], verdicts[mutant.name]["commit"]) for mutant in judged})
    untried = sum(verdicts[mutant.name]["by"] == "related tests" for mutant in judged if mutant not in caught)
    only = f" {untried} of the survivors met the nearest tests alone, not yet the whole suite." if untried else ""
    lines = [
        "# Wrong on purpose",
        "",
        _paragraph(
            "Written by `make mutate`. A mutant is one small mistake in a copy of the sources, such as a reviewer may "
            "overlook: a sign, a bound, a forgotten check. The tests nearest to it run first and, if they notice "
            "nothing, the whole suite. A mutant that no test notices has survived, and shows what no test states. "
            "The list is `tests/mutants/mutants.toml`; every verdict, with the test that failed first, is in "
            "[results/mutation.json](results/mutation.json). Tests were added until those that survived at first were "
            "caught: the share is about this list, not about every mistake that could be made."
        ),
        "",
        _paragraph(
            f"**{len(caught)} of {len(judged)} were caught**, {len(caught) - len(beyond)} of them by the tests nearest "
            f"to them.{only} {_judged_at(commits)}"
        ),
        "",
        "| room | mutants | caught | survived |",
        "|---|--:|--:|--:|",
    ]
    for room in dict.fromkeys(mutant.room for mutant in judged):
        inside = [mutant for mutant in judged if mutant.room == room]
        hits = sum(mutant in caught for mutant in inside)
        lines.append(f"| {room} | {len(inside)} | {hits} | {len(inside) - hits} |")
    lines += _section("Survived", [m for m in judged if m not in caught], lambda m: _tried(verdicts[m.name]))
    lines += _section("Caught from afar", beyond, lambda m: f"by `{verdicts[m.name]['first']}`")
    lines += _section("Equivalent", [m for m in mutants if m.equivalent], lambda m: m.equivalent)
    if unjudged := [mutant for mutant in mutants if mutant.name not in verdicts and not mutant.equivalent]:
        lines += ["", f"Not judged yet: {', '.join(f'`{mutant.name}`' for mutant in unjudged)}."]
    return "\n".join(lines) + "\n"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _judged_at(commits: list[tuple[str, str]]) -> str:
    if not commits:
        return "None has been judged."
    dates, (*_, (_, commit)) = [date for date, _ in commits], commits
    where = f"at commit `{commit}`" if len(commits) == 1 else f"at {len(commits)} commits, each named with its verdict"
    return f"Judged on {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {where}."


def _tried(verdict: dict[str, Any]) -> str:
    return f"tried: {verdict['by']}"


def _section(title: str, mutants: list[Mutant], note: Any) -> list[str]:
    if not mutants:
        return []
    rows = [f"- `{mutant.name}` ({mutant.file}): {mutant.wrong} *{note(mutant)}*" for mutant in mutants]
    return ["", f"## {title}", "", *rows]
