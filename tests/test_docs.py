"""Every `rankloop` command in the documentation works as written. (Python snippets run as doctests.)"""

import os
import pkgutil
import re
import shlex
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests import preloaded
from tests.patience import COMMAND, PATIENT, end, run, wait_until
from website import commands as commands_page

import rankloop
from rankloop import client
from rankloop.home import home
from rankloop.kernels import draws
from rankloop.learners import LEARNERS
from rankloop.studies.runner import make_plan
from rankloop.studies.specification import cells, parse

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PORTS = {"serve": "8080", "demo": "8090", "report": "8100"}
"""Where the commands that serve listen unless they are told otherwise."""

BRIEFLY = {"late_clicks.py": ("--seeds", "2", "--impressions", "4000", "--picture", "late.png")}
"""What an example is asked for here, where all of it would take long: every delay and method, fewer pages."""
TESTED_APART = {"shop_with_postgres.py", "shop_with_sqlite.py", "values.py"}
"""Examples that tests/test_examples.py runs."""


LONG = {
    "challengers.md", "extending.md", "how-to.md", "interleaving.md", "late_clicks.py", "log.md", "notebook.md",
    "replay.md", "studies.md", "study-viewer.md", "tutorial.md", "users.md",
}  # fmt: skip
"""Pages whose commands take four seconds of a processor and more, and an example that does: `make test-long`."""


def each(paths):
    """A test for each of these files; where that takes long, among the longest."""
    return [pytest.param(path, marks=[pytest.mark.long] * (path.name in LONG), id=path.name) for path in paths]


def commands(page):
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("rankloop ")]


def test_there_are_commands_to_try():
    assert sum(len(commands(page)) for page in PAGES) > 10
    assert {page.name for page in PAGES if commands(page)} | BRIEFLY.keys() > LONG


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("page", each(page for page in PAGES if commands(page)))
def test_the_commands_of_a_page_work_one_after_the_other(page, tmp_path, request):
    if any("MQ2008" in command for command in commands(page)):
        (tmp_path / "MQ2008").symlink_to(request.getfixturevalue("shared_data") / "MQ2008")
    (tmp_path / "docs").symlink_to(ROOT / "docs")  # what a clone has, the public table of runs among it
    mine = tmp_path / "my-collection"
    mine.mkdir()
    for name in ("train", "vali", "test"):
        lines = [f"{d % 5} qid:{d // 20} 1:{(d % 5) / 5} 2:{d % 7}\n" for d in range(400)]
        (mine / f"{name}.txt").write_text("".join(lines))
    for name, text in files(page).items():
        (tmp_path / name).write_text(text)
    with Reader(tmp_path) as reader:
        for command in commands(page):
            reader.type(command)
        for program in programs(page):
            reader.run([sys.executable, "-c", program], program)


def test_the_recipe_for_random_weights_holds_for_every_seed():
    """A key has 64 bits; in plain Python half of all keys fit no signed number."""
    [recipe] = re.findall(r"`(fill_normals\(.*?out\))`", (ROOT / "docs/extending.md").read_text())
    for seed in range(40):
        out = np.zeros(9, np.float32)
        exec(recipe, vars(draws) | {"np": np, "seed": seed, "out": out})
        assert (out != 0).all()


def programs(page):
    """Python that is no doctest, such as what is done with a command's results; live.md has a test of its own."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [] if page.name == "live.md" else [block for block in blocks if not block.startswith((">>> ", "# "))]


def files(page):
    """What a reader writes into a folder before typing the commands: blocks that begin with a file's name."""
    blocks = re.findall(r"^```\w+\n(# ([\w.]+)\n.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {name: text for text, name in blocks}


class Reader:
    """Somebody who types one command after the other; what serves goes on in another window until the page ends.

    Pages are read at the same time, so a port that a page names becomes a free one, in the commands that follow too.
    """

    def __init__(self, folder):
        self.folder = folder
        # Opening a browser is the command's affair; here nobody looks.
        self.environment = os.environ | {"RANKLOOP_HOME": str(folder / "home"), "BROWSER": "true"}
        # What rankloop makes for everybody is the same in every home: made once, for all pages.
        for made in ("collections/worlds", "demo"):
            (shared := home() / made).mkdir(parents=True, exist_ok=True)
            (own := folder / "home" / made).parent.mkdir(parents=True, exist_ok=True)
            own.symlink_to(shared)
        self.servers = {}
        self.ports = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for named in list(self.servers):
            self.stop(named)

    def type(self, command):
        words = shlex.split(command, comments=True)[1:]
        words = words[:-1] if words[-1] == "&" else words
        if words[0] in ("serve", "demo") or "--serve" in words:
            self.serve(command, words)
            return
        # One processor is enough for pages that are read at the same time.
        given = {"cwd": self.folder, "env": self.environment, "processors": 1, "forks": True}
        done = preloaded.run(*map(self.readdressed, words), **given)
        assert done.returncode == 0, f"{command}\n{done.stderr}"

    def run(self, words, shown):
        done = run(words, cwd=self.folder, env=self.environment)
        assert done.returncode == 0, f"{shown}\n{done.stderr}"

    def readdressed(self, word):
        for named, port in self.ports.items():
            word = re.sub(rf"(localhost|127\.0\.0\.1):{named}\b", rf"\1:{port}", word)
        return word

    def serve(self, command, words):
        named = words[words.index("--port") + 1] if "--port" in words else PORTS[words[0]]
        self.stop(named)
        self.ports[named] = port = str(free_port())
        words = [word for at, word in enumerate(words) if "--port" not in (word, words[at - 1])]
        said = self.folder / f"served-{port}.txt"
        self.servers[named] = server = self.started((*words, "--port", port), said)

        def answers():
            assert server.poll() is None, f"{command}\n{said.read_text()}"
            with suppress(httpx.TransportError):
                return httpx.get(f"http://127.0.0.1:{port}/").status_code < 500

        wait_until(answers, lambda: f"{command}: an answer\n{said.read_text()}")

    def started(self, words, said):
        """A service among many pages' starts quickly; the other programs that serve start as people start them."""
        if words[0] == "serve":
            return preloaded.Started(words, self.folder, said, said, env=self.environment, patient=True)
        with said.open("wb") as written:
            return subprocess.Popen(
                [*(COMMAND if "--serve" in words else PATIENT), *words],
                stdin=subprocess.DEVNULL, stdout=written, stderr=written, cwd=self.folder, env=self.environment,
            )  # fmt: skip

    def stop(self, named):
        """End a server as Ctrl-C or an operator would; one that a page starts again on its port has been ended."""
        server = self.servers.pop(named, None)
        if server is not None:
            end(server)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def toml_blocks():
    """Every block of TOML in the documentation, as a study: one without grids gets a grid, and a small collection."""
    grid = '\n[[grids]]\nname = "any"\nlearners = [{ learner = "ROLTR" }]\n'
    for page in TEXTS:
        for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)):
            if block.startswith("# "):
                continue  # a file: the page's commands run it, beside the others that it needs
            if "[[grids]]" in block:
                yield pytest.param(block, id=f"{page.name}-{number}")
            else:
                named = 'name = "any"\n' if not re.search(r"^name = ", block, re.MULTILINE) else ""
                small = 'collections = ["tiny"]\n' if not re.search(r"^collections = ", block, re.MULTILINE) else ""
                yield pytest.param(named + small + block + grid, id=f"{page.name}-{number}")


@pytest.mark.parametrize("text", list(toml_blocks()))
def test_every_block_of_toml_is_a_study_that_runs(text, tmp_path):
    study = parse(text, "a page")
    asked = cells(study)
    small = rankloop.load("tiny")
    tried = set()
    for cell in make_plan(study, asked, tmp_path / "results").cells:
        if (cell[0].user, cell[0].learner) not in tried:
            tried.add((cell[0].user, cell[0].learner))
            rankloop.simulate(cell[0].learner, cell[0].user, small, 20, seed=1, evaluate_every=0)
    assert len(tried) >= 1


@pytest.mark.process
@pytest.mark.parametrize(
    "example", each(path for path in sorted((ROOT / "examples").glob("*.py")) if path.name not in TESTED_APART)
)
def test_examples_run(example, tmp_path):
    done = run([sys.executable, str(example), *BRIEFLY.get(example.name, ())], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_there_is_something_to_check():
    assert sum(len(links(page)) for page in TEXTS) > 100


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_pages_and_headings_that_are_there(page):
    for target in links(page):
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(goal), f"{page.name} links to {target}; {goal.name} has {sorted(anchors(goal))}"


def test_the_readme_serves_both_readers_within_a_screen():
    screen, _, rest = (ROOT / "README.md").read_text().partition("![")
    assert len(screen.splitlines()) <= 25
    for both in (("make demo", "make run"), ("docs/live.md", "docs/tutorial.md")):
        assert all(one in screen for one in both)
    assert rest.index("rankloop serve") < rest.index("/v1/models/shop/rank") < rest.index("rankloop as rl") < 2500


def test_every_page_is_in_the_navigation_of_the_site_and_on_the_map():
    navigation, index = (ROOT / "mkdocs.yml").read_text(), (ROOT / "docs" / "index.md").read_text()
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r"[\w./-]+\.md", navigation.partition("nav:")[2]))
    missing = {page for page in pages if "/" not in page and page != "index.md" and f"({page})" not in index}
    assert not missing, f"docs/index.md does not lead to {sorted(missing)}"


def test_the_plan_of_the_house_has_every_room():
    page, sources = (ROOT / "docs/architecture.md").read_text(), Path(rankloop.__file__).parent
    table = page.partition("| room |")[2].partition("Three ideas")[0]
    rooms = [f"{path.parent.name}/" for path in sources.glob("*/__init__.py")]
    rooms += [path.name for path in sources.glob("[a-z]*.py")]
    assert [room for room in sorted(rooms) if f"`{room}`" not in table] == []


def test_the_page_of_commands_is_what_the_command_line_says():
    written = commands_page.PAGE.read_text()
    assert written == commands_page.page(), "docs/commands.md is out of date: run `python -m website.commands`"


def test_the_reference_has_everything_that_is_public():
    described = "\n".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    names = {f"rankloop.{name}" for name in rankloop.__all__} | {f"rankloop.client.{name}" for name in client.__all__}
    absent = {name for name in names if not re.search(rf"::: {re.escape(name)}\b", described)}
    assert not absent, f"no page below docs/api describes {sorted(absent)}"
    for named in re.findall(r"^::: (\S+)$", described, flags=re.MULTILINE):
        assert pkgutil.resolve_name(named), f"docs/api describes {named}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_and_files_that_a_page_names_are_there(page):
    text = page.read_text()
    sources = [
        path for room in ("src", "tests", "benchmarks", "website", "examples") for path in (ROOT / room).rglob("*.py")
    ]
    for named in set(re.findall(r"`([\w/]+\.py)`", text)) - {"my_methods.py", *files(page)}:
        assert any(str(path).endswith(f"/{named}") for path in sources), f"{page.name} names the file {named}"
    if page.name in ("architecture.md", "CONTRIBUTING.md"):
        for named in re.findall(r"`([a-z_]+(?:/[a-z_]+)*/)`", text):
            places = [ROOT, ROOT / "src" / "rankloop", *(ROOT / "src" / "rankloop").glob("*/")]
            assert named == "site/" or any((place / named).is_dir() for place in places), f"{page.name}: {named}"
    for named in re.findall(r"`(rankloop(?:\.(?!db\b)\w+)+)", text):
        assert pkgutil.resolve_name(named), f"{page.name} names {named}"


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_the_table_of_learners_has_every_setting_and_its_default(name):
    table = (ROOT / "docs" / "reference.md").read_text()
    [row] = re.findall(rf"^\| `rl\.{name}` \| (\w+) \| (.*) \|$", table, flags=re.MULTILINE)
    settings = LEARNERS[name]()
    assert row[0] == settings.learns_from
    shown = dict(re.findall(r"`(\w+)=([^`]*)`", row[1]))
    written = {field: getattr(settings, field) for field in settings.__struct_fields__}
    assert list(shown) == list(written)
    known = {"power_law": rankloop.propensities.power_law, "Linear": rankloop.Linear}
    assert {field: eval(text, known) for field, text in shown.items()} == written


def links(page):
    """Targets of a page's links to this repository; what is inside code is no link."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "", text)
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]


def anchors(page):
    """What the headings of a page are called in addresses. (A line right below a table is a row of it.)"""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"(?:\A|\n\n)#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
