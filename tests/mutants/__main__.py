"""`make mutate`: make small mistakes on purpose, and see that the tests notice.

python -m tests.mutants [--check] [--related] [--only ROOM] [--jobs N] [--again]

A verdict is kept while the mutant, its source file and the tests nearest to it stay as they are, so a run that was
stopped goes on where it was.
"""

import argparse
import hashlib
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from subprocess import run
from threading import Lock

from tests.mutants import page
from tests.mutants.judging import Copy
from tests.mutants.patches import ROOT, Mutant, complaints, load

DOCS = ROOT / "docs"


def main() -> int:
    """Judge what has no verdict yet; 1 if the list or the sources are not fit for it."""
    given = parsed()
    mutants = load()
    chosen = [mutant for mutant in mutants if not given.only or {mutant.room, mutant.name} & set(given.only)]
    if wrong := complaints(chosen):
        print("\n".join(wrong))
        return 1
    if given.check:
        print(f"{len(chosen)} mutants, each original found exactly once")
        return 0
    verdicts = page.read(given.raw)
    due = [
        mutant for mutant in chosen if not mutant.equivalent and (given.again or not settled(mutant, verdicts, given))
    ]
    if due and not judge_all(due, verdicts, given):
        return 1
    known = {mutant.name for mutant in mutants}
    verdicts = {name: verdict for name, verdict in verdicts.items() if name in known}
    page.write(given.raw, verdicts)
    given.page.write_text(page.markdown(mutants, verdicts), encoding="utf-8")
    survived = [mutant for mutant in chosen if mutant.name in verdicts and not verdicts[mutant.name]["caught"]]
    print(
        f"{len(chosen)} mutants, {len(survived)} survived{': ' * bool(survived)}{', '.join(m.name for m in survived)}"
    )
    return 0


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only see that every original occurs exactly once")
    parser.add_argument("--related", action="store_true", help="the tests nearest to each mutant, not the whole suite")
    parser.add_argument("--only", action="append", metavar="ROOM", help="a room, or a mutant by its name")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="copies of the repository at work at once")
    parser.add_argument("--again", action="store_true", help="judge anew what has a verdict")
    parser.add_argument("--seconds", type=float, default=600.0, help="the tests nearest to a mutant must end by then")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "rankloop-mutants", help="where the copies lie"
    )
    parser.add_argument("--raw", type=Path, default=DOCS / "results" / "mutation.json", help="where verdicts are kept")
    parser.add_argument("--page", type=Path, default=DOCS / "mutation.md", help="where the page goes")
    return parser.parse_args()


def settled(mutant: Mutant, verdicts: page.Verdicts, given: argparse.Namespace) -> bool:
    """Whether its verdict still stands; a survivor of the nearest tests alone has the whole suite before it."""
    verdict = verdicts.get(mutant.name)
    if verdict is None or verdict["key"] != mutant.key():
        return False
    return verdict["caught"] or given.related or verdict["by"] == "the whole suite"


def judge_all(due: list[Mutant], verdicts: page.Verdicts, given: argparse.Namespace) -> bool:
    """Judge them, with progress; False if tests fail in sources that nobody has changed."""
    folder = given.folder / hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
    copies: SimpleQueue[Copy] = SimpleQueue()
    for job in range(min(given.jobs, len(due))):
        place = folder / f"copy-{job + 1}"
        place.mkdir(parents=True, exist_ok=True)
        copies.put(Copy(ROOT, place))
    commit = run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    lock, done = Lock(), 0

    def judge(mutant: Mutant) -> None:
        nonlocal done
        copy = copies.get()
        key, began = mutant.key(copy.root), time.monotonic()
        try:
            outcome, by = copy.judge(mutant, given.seconds, suite=not given.related)
        finally:
            copies.put(copy)
        with lock:
            done += 1
            verdicts[mutant.name] = {
                "caught": not outcome.passed, "by": by, "first": outcome.first,
                "key": key, "seconds": round(time.monotonic() - began, 1), "commit": commit, "date": page.today(),
            }  # fmt: skip
            page.write(given.raw, verdicts)
            word = "SURVIVED" if outcome.passed else f"caught by {outcome.first or 'an error'}"
            print(
                f"[{done}/{len(due)}] {mutant.room}: {mutant.name}: {word} ({verdicts[mutant.name]['seconds']} s)",
                flush=True,
            )

    if not sound(due, copies, given):
        return False
    with ThreadPoolExecutor(max(1, given.jobs)) as pool:
        list(pool.map(judge, due))
    return True


def sound(due: list[Mutant], copies: "SimpleQueue[Copy]", given: argparse.Namespace) -> bool:
    """Whether the tests pass without any mutant: otherwise everything would count as caught.

    What passed is remembered beside each copy while sources and tests stay as they are.
    """
    for copy in [copies.get() for _ in range(copies.qsize())]:
        copies.put(copy)
        for select in sorted({mutant.select for mutant in due}):
            tests = copy.unproven({test for mutant in due if mutant.select == select for test in mutant.tests}, select)
            if not tests:
                continue
            print(f"without any mutant: {len(tests)} test files{f' ({select})' if select else ''} …", flush=True)
            outcome = copy.test(sorted(tests), select, 10 * given.seconds)
            if not outcome.passed:
                print(f"{outcome.output}\nthe tests fail without any mutant: {outcome.first}")
                return False
            copy.prove(tests)
    return True


if __name__ == "__main__":
    sys.exit(main())
