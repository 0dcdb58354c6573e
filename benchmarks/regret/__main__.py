"""`make regret`: run the study of regret, and write its tables, its picture and its raw figures.

python -m benchmarks.regret [--data FOLDER] [--results FOLDER] [--json FILE] [--out PAGE] [--picture FILE]
                            [--earlier FILE] [--study FILE]

`--study` takes another file than the study of regret: `hardest.toml` beside this one has its hardest cells with more
seeds. Other options are those of `rankloop run`. With `--only`, `--earlier` takes the learners that were not run from
figures of an earlier commit, if the reference's runs are the same in every bit.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import commit
from rankloop.cli.terminal import err
from rankloop.data import listing
from rankloop.display.pictures import calm, save
from rankloop.runs.run import this_machine
from rankloop.studies.formats import escape_markdown, markdown
from rankloop.studies.regret.findings import Findings, read_findings
from rankloop.studies.regret.picture import draw
from rankloop.studies.regret.tables import sentences, tables_for

ROOT = Path(__file__).parents[2]
COLLECTIONS = {"mq2008": "MQ2008", "mslr-sample": "MSLR-WEB10K-sample", "clueweb09": "ClueWeb09-Webis"}
"""The study's names of the published collections, and those of their folders."""
BEGIN, END = "<!-- written by `make regret` -->\n", "<!-- the end of what `make regret` writes -->\n"


def main(words: list[str] | None = None) -> None:
    """Run, or go on where it was stopped; then write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regret", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--results", type=Path, default=Path("results/regret"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--earlier", type=Path)
    parser.add_argument("--study", default="regret")
    given, options = parser.parse_known_args(words)
    imported = {entry.name for entry in listing() if entry.kind == "named"}
    for name, folder in COLLECTIONS.items():
        known = given.study == "regret" or f'"{name}"' in Path(given.study).read_text(encoding="utf-8")
        if known and name not in imported and (given.data / folder).is_dir():
            options += ["--data", f"{name}={given.data / folder}"]
    program = "from rankloop.cli import main; main()"
    command = [sys.executable, "-c", program, "run", given.study, "--out", str(given.results), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = read_findings(given.results)
    assert found is not None, f"{given.results} has no findings"
    figures = {"commit": commit(), "machine": this_machine()}
    if given.earlier:
        before = json.loads(given.earlier.read_text(encoding="utf-8"))
        kept = msgspec.convert(before["found"], Findings)
        figures["earlier"] = {"commit": before["commit"], "learners": sorted({*kept.learners} - {*found.learners})}
        found = joined(found, kept)
    figures["found"] = msgspec.to_builtins(found)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    text = page(found, figures)
    if given.picture:
        with calm():
            save(draw(found), given.picture)
        text = f"![Each learner’s regret in each cell, beside ROLTR’s](images/{given.picture.name})\n\n{text}"
    if given.out:
        written = given.out.read_text(encoding="utf-8")
        given.out.write_text(replaced(written, text), encoding="utf-8")
    else:
        print(text)
    for sentence in sentences(found):
        err.print(sentence, markup=False)


def page(found: Findings, figures: dict[str, Any]) -> str:
    """What stands between the marks: a sentence for each learner, and the tables."""
    machine = figures["machine"]
    told = f"At commit {figures['commit']}, {machine['cores']} × {machine['processor']}."
    if earlier := figures.get("earlier"):
        told += (
            f" {', '.join(earlier['learners'])}: at commit {earlier['commit']}; {found.against}’s runs, beside which "
            f"they stand, are the same in every bit."
        )
    said = "\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences(found))
    return "\n".join([said, "", *map(markdown, tables_for(found)), told, ""])


def joined(found: Findings, kept: Findings) -> Findings:
    """What was found, and of an earlier study the learners that were not run again. Their ratios are to the reference's
    regrets, so these must be the same in every run; it may have more runs now."""
    now = {(row.collection, row.user): row.regrets for row in found.of(found.against)}
    for row in kept.of(kept.against):
        same = now.get((row.collection, row.user), ())[: len(row.regrets)] == row.regrets
        assert same, f"{row.user} on {row.collection}: other runs"
    others = {*kept.learners} - {*found.learners}
    fields = {
        name: (*getattr(found, name), *(one for one in getattr(kept, name) if one.learner in others))
        for name in ("rows", "averages", "tried", "choices")
    }
    return msgspec.structs.replace(found, **fields)


def replaced(written: str, text: str) -> str:
    """A page with other results.

    >>> replaced(f"before {BEGIN}old {END}after", "new ") == f"before {BEGIN}\\nnew \\n{END}after"
    True
    """
    before, _, rest = written.partition(BEGIN)
    _, _, after = rest.partition(END)
    assert rest, "the page has marks where results belong"
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


if __name__ == "__main__":
    main()
