"""A study's report: one page that holds everything, says what is missing, and lets nothing in."""

import base64
import hashlib
import re
import subprocess
import tomllib
from html.parser import HTMLParser

import msgspec
import pytest
from matplotlib import image as images
from tests.browsing import BROWSER, HOW_TO_GET_IT
from tests.patience import PATIENCE

from rankloop import simulate, users
from rankloop.data import load
from rankloop.studies import report
from rankloop.studies.coverage import Coverage
from rankloop.studies.held import Start
from rankloop.studies.records import Results, key_of, read_records, write_record
from rankloop.studies.specification import Grid, Study, cells, load_study

VOID = {"meta", "img", "br", "hr"}
HOSTILE = '<script>alert("1")</script> & a_b 5% `c` $d$'

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]  # pictures take a while, and one page many tests


class Page(HTMLParser):
    """What a browser would find: every tag closed in order, every attribute, every picture."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def of(self, tag, name):
        return [value for one, attribute, value in self.attributes if (one, attribute) == (tag, name)]


def small(*learners, **settings):
    chosen = {"impressions": 2000, "repeats": 3, "evaluate_every": 500, "collections": ("tiny",)} | settings
    grid = Grid(name="g", title=chosen.pop("title", "A grid"), learners=learners, gradient_variance=False)
    return Study(name="mine", title="Mine", question="Why?", grids=(grid,), **chosen)


def written(results, folder):
    path = report.write(results, folder)
    return Page(path.read_text(encoding="utf-8")), path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def plain(made_up, tmp_path_factory):
    """Where the report of a study of two methods lies."""
    folder = tmp_path_factory.mktemp("plain")
    report.write(made_up(small({"learner": "ROLTR"}, {"learner": "PDGD"})), folder)
    return folder


@pytest.fixture(scope="module")
def plain_text(plain):
    return (plain / "report.html").read_text(encoding="utf-8")


def test_labels_with_commas_are_told_apart(made_up):
    study = small({"learner": "ROLTR"}, {"learner": "ROLTR", "discount": 0.5, "label": "ROLTR, patient"})
    facts = dict(report._facts(Coverage(made_up(study))))
    assert facts["learners"] == "ROLTR; ROLTR, patient"


@pytest.fixture
def paper(made_up):
    return made_up(load_study("paper"), keep=lambda cell: cell.seed <= 2 and cell.source.name == "MSLR10K")


@pytest.mark.long
def test_the_paper_is_one_page_with_every_figure_and_no_request(paper, tmp_path):
    page, text = written(paper, tmp_path)
    pictures = page.of("img", "src")
    assert len(pictures) == len(list(tmp_path.glob("figures/*.svg"))) == len(list(tmp_path.glob("figures/*.png"))) == 8
    embedded = {base64.b64decode(source.removeprefix("data:image/svg+xml;base64,")) for source in pictures}
    assert embedded == {path.read_bytes() for path in tmp_path.glob("figures/*.svg")}
    assert not re.search("https?:|//[a-z]", re.sub(r"base64,[A-Za-z0-9+/=]+", "", text))
    assert all(page.of("img", "alt"))
    for section in ("What was run", "The six rewards", "The paper's claims", "How to reproduce", "Settings"):
        assert section in page.text
    assert {"supported", "contradicted", "undecided"} & set(re.findall(r"\w+", page.text))
    assert "the synthetic world mslr-like, which stands in for mslr-web10k" in page.text
    assert "rankloop run paper --data mslr-web10k=PATH" in page.text
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert {f"figures/{path.name}" for path in tmp_path.glob("figures/*.png")} == set(
        re.findall(r"\]\((.*?)\)", markdown)
    )
    assert (tmp_path / "tables.tex").read_text(encoding="utf-8").count(r"\begin{table}") == page.tags.count("table")


def test_the_policy_allows_the_page_s_own_style_and_nothing_else(plain_text):
    page = Page(plain_text)
    style = re.search("<style>(.*?)</style>", plain_text, re.DOTALL).group(1)
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(value for value in page.of("meta", "content") if "default-src" in value)
    assert policy.startswith(f"default-src 'none'; img-src data:; style-src 'sha256-{hashed}'")
    assert not {"script", "link", "iframe", "object", "svg"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name == "style" or name.startswith("on")]
    assert "prefers-color-scheme: dark" in style


def test_links_inside_the_page_lead_somewhere(plain_text):
    page = Page(plain_text)
    targets = [value for _, name, value in page.attributes if name == "id"]
    assert [link.removeprefix("#") for link in page.of("a", "href")] == targets
    assert len(set(targets)) == len(targets)


def test_hostile_names_are_shown_and_do_nothing(made_up, tmp_path):
    study = small({"learner": "ROLTR", "label": HOSTILE}, {"learner": "PDGD"}, title=HOSTILE)
    study = msgspec.structs.replace(study, title=HOSTILE, question=HOSTILE)
    page, text = written(made_up(study), tmp_path)
    assert "script" not in page.tags
    assert "<script" not in text
    assert HOSTILE in page.text
    assert "A <fast> one" in page.text
    assert r"a\_b 5\% `c` \$d\$" in (tmp_path / "tables.tex").read_text(encoding="utf-8")
    outside = re.sub("```.*?```", "", (tmp_path / "report.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"(?<!\\)<script", outside)


def test_an_unfinished_study_says_so(made_up, tmp_path):
    study = small({"learner": "ROLTR"}, {"learner": "PDGD"}, repeats=15)
    page, _ = written(made_up(study, keep=lambda cell: cell.seed <= 3), tmp_path)
    assert "12 of 60 runs finished" in page.text
    assert "3 of 15 runs" in page.text


def test_a_study_of_which_nothing_is_finished_still_has_a_page(made_up, tmp_path):
    page, _ = written(made_up(small({"learner": "ROLTR"}), keep=lambda cell: False), tmp_path)
    assert "0 of 6 runs finished" in page.text
    assert page.of("img", "src") == []


def test_a_single_repeat_has_neither_intervals_nor_nan(made_up, tmp_path):
    page, _ = written(made_up(small({"learner": "ROLTR"}, {"learner": "PDGD"}, repeats=1)), tmp_path)
    shown = page.text[page.text.index("A grid") : page.text.index("How to reproduce")]
    assert "nan" not in shown.replace("undecided", "")
    assert "interval" not in page.text[page.text.index("A grid: learning curves") : page.text.index("Online nDCG")]


def test_the_same_results_give_the_same_page(made_up, plain, plain_text, tmp_path):
    assert written(made_up(small({"learner": "ROLTR"}, {"learner": "PDGD"})), tmp_path)[1] == plain_text
    assert not [*tmp_path.glob(".*partial"), *plain.glob(".*partial")]


def test_claims_are_judged_in_the_studies_that_ask_for_it(made_up, plain_text, tmp_path):
    learners = {"learner": "ROLTR"}, {"learner": "PDGD"}
    assert "claim" not in Page(plain_text).text
    assert "The paper's claims" in written(made_up(small(*learners, claims=True)), tmp_path / "asks")[0].text
    earlier = msgspec.structs.replace(small(*learners), name="rq4")  # of a folder from before studies could ask
    assert "The paper's claims" in written(made_up(earlier), tmp_path / "earlier")[0].text


def test_the_settings_hold_the_people_too(made_up, tmp_path):
    results = made_up(small({"learner": "ROLTR"}, users=("noisy",)))
    table = {
        "kind": "mixture",
        "name": "noisy",
        "people": [{"kind": "trust", "attraction": [0.1, 0.9]}],
        "weights": [1.0],
    }
    results.records = [msgspec.structs.replace(one, settings=one.settings | {"user": table}) for one in results.records]
    page, _ = written(results, tmp_path)
    assert "The people who clicked" in page.text
    assert "kind = mixture, people = [{kind = trust, attraction = [0.1, 0.9]}], weights = [1]" in page.text


def test_a_study_of_one_s_own_is_reproduced_from_its_file(plain_text):
    assert "rankloop run study.toml" in Page(plain_text).text


def test_what_was_chosen_is_said_and_the_command_works_from_anywhere(made_up, tmp_path):
    study = small({"learner": "ROLTR"}, {"learner": "PDGD"})
    results = made_up(study, keep=lambda cell: cell.user.name == "noisy")
    command = ("rankloop", "run", "rq2", "--data", "/some where/A", "--only", "noisy")
    results.starts, results.left_out = (Start(command, ("noisy",)),), "24 runs on A"
    page, _ = written(results, tmp_path)
    assert "6 of the study's 12 runs, with --only noisy" in page.text
    assert "6 of 6 runs" not in page.text
    assert "finished" not in page.text
    assert "24 runs on A; in the same folder, but not part of the study as it was started last" in page.text
    assert "--data may" not in page.text  # what was left out says why
    assert "rankloop run rq2 --data '/some where/A' --only noisy --out " in page.text, "into a folder of its own"
    assert "rankloop run study.toml --only noisy" in page.text
    assert "No finished run:" not in page.text


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason=HOW_TO_GET_IT)
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (500, False)])
def test_a_browser_draws_the_pictures_and_has_nothing_to_complain_about(plain, tmp_path, width, dark):
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", f"--window-size={width},1600",
        f"--screenshot={tmp_path / 'shot.png'}", f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"file://{plain / 'report.html'}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert "CONSOLE" not in done.stderr
    shot = (images.imread(tmp_path / "shot.png")[..., :3] * 255).round().astype(int)
    assert (shot[5, 5].sum() < 120) == dark
    for colour in ("#D55E00", "#0072B2"):  # the two methods' lines
        wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert (abs(shot - wanted).max(axis=-1) < 12).sum() > 50


def test_real_runs_are_reported(tmp_path):
    study = msgspec.convert(
        tomllib.loads(
            'name = "real"\nimpressions = 300\nrepeats = 2\nevaluate_every = 100\ncollections = ["tiny"]\n'
            '[[grids]]\nname = "g"\ngradient_variance = true\nlearners = [{learner = "ROLTR"}]\n'
        ),
        Study,
    )
    data, keyed = load("tiny"), []
    (tmp_path / "runs").mkdir()
    for cell in cells(study):
        run = simulate(
            cell.learner, users.by_name(cell.user.name, data.grades), data, cell.impressions, cell.seed,
            evaluate_every=cell.evaluate_every, gradient_variance=True,
        )  # fmt: skip
        keyed.append((cell, key_of(cell, data.content_hash)))
        write_record(tmp_path, keyed[-1][1], run)
    results = Results(study, read_records(tmp_path, keyed))
    page, _ = written(results, tmp_path)
    assert len(page.of("img", "src")) == 2
    assert f"{sum(results.values('offline_ndcg', user='noisy')) / 2:.4f}" in page.text
