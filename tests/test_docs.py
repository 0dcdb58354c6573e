"""Every `rankloop` command in the documentation works as written. (Python snippets run as doctests.)"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(page):
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("rankloop ")]


def test_there_are_commands_to_try():
    assert sum(len(commands(page)) for page in PAGES) > 10


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_work_one_after_the_other(page, tmp_path, shared_data):
    (tmp_path / "MQ2008").symlink_to(shared_data / "MQ2008")
    mine = tmp_path / "my-collection"
    mine.mkdir()
    for name in ("train", "vali", "test"):
        lines = [f"{d % 5} qid:{d // 20} 1:{(d % 5) / 5} 2:{d % 7}\n" for d in range(400)]
        (mine / f"{name}.txt").write_text("".join(lines))
    environment = os.environ | {"RANKLOOP_HOME": str(tmp_path / "home")}
    for command in commands(page):
        words = shlex.split(command, comments=True)[1:]
        done = subprocess.run(
            [sys.executable, "-c", "from rankloop.cli import main; main()", *words],
            capture_output=True, text=True, cwd=tmp_path, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example):
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
