"""`rankloop propensities` on a service's log and on a click log, and what it refuses."""

import json

import numpy as np
import pytest
from tests.live.diary import FOR_ALL, Diary, page_of

from rankloop.cli import main
from rankloop.cli.propensities import _said
from rankloop.live.settings import ModelSettings
from rankloop.propensities.trust_effect import TrustVerdict


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main(["propensities", *map(str, arguments)])
    printed = capsys.readouterr()
    return left.value.code, printed.out, printed.err


@pytest.fixture
def click_log(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["query,document,rank,click"]
    for query in range(100):
        for _ in range(20):
            for rank, document in enumerate(rng.permutation(3), start=1):
                lines.append(f"{query},{document},{rank},{int(rng.random() < 0.8 / rank)}")
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(lines))
    return path


def test_a_click_log_gives_three_curves(capsys, click_log):
    code, printed, _ = run(capsys, click_log, "--json")
    [found] = json.loads(printed)
    assert code == 0
    assert found["curves"]["all pairs"] == pytest.approx([1.0, 1 / 2, 1 / 3], rel=0.15)
    assert found["curves"]["chain"] == pytest.approx([1.0, 1 / 2, 1 / 3], rel=0.15)
    assert found["note"].startswith("2,000 pages")
    code, printed, _ = run(capsys, click_log)
    assert "all pairs" in printed
    assert "raw clicks" in printed


@pytest.fixture
def service_log(tmp_path):
    """The log of 100 visits, kept with its model's state, and one of a model whose pages have no probabilities."""
    import msgspec

    from rankloop.learners import DBGD, ROLTR
    from rankloop.live.events import now
    from rankloop.live.stores import open_store
    from rankloop.live.stores.rows import Snapshot

    settings = ModelSettings(name="shop", features=2, page_size=3, seed=1, guards=FOR_ALL, learner=ROLTR())
    diary, rng = Diary(settings), np.random.default_rng(1)
    for _ in range(100):
        shown = diary.show(rng.normal(size=(6, 2)))
        diary.close(shown, [float(rng.random() < 0.6 / (k + 1)) for k in range(len(page_of(shown).page))])
    store = open_store(tmp_path / "shop.db")
    with store.transaction() as transaction:
        model = transaction.create_model("shop", msgspec.json.encode(settings), now())
        transaction.write([event._replace(model=model) for event in diary.events], [], [], [], [])
        transaction.save_snapshot(Snapshot(model, 100, 1, now(), diary.fold.state()), expects=-1)
        other = ModelSettings(name="duels", features=2, learner=DBGD(), seed=1)
        transaction.create_model("duels", msgspec.json.encode(other), now())
    store.close()
    return tmp_path / "shop.db"


def test_a_service_s_log_gives_the_curve_of_its_swaps(capsys, service_log):
    code, printed, _ = run(capsys, service_log, "--model", "shop", "--json")
    [found] = json.loads(printed)
    assert code == 0
    assert found["curves"]["from"][2] < found["curves"]["swaps"][2] < found["curves"]["to"][2]
    assert found["note"] == "100 pages that it learned from. Not enough clicks yet to tell how far people look."


def test_and_whether_people_trust_the_top(capsys, service_log):
    code, printed, said = run(capsys, service_log, "--trust", "--json")
    [found] = json.loads(printed)
    assert code == 0
    assert "duels: its pages are not drawn by a softmax" in said
    assert found["note"].startswith("100 pages that are in the log: no significant trust effect (χ² = ")
    assert found["curves"]["slope"][0] == 1.0
    assert found["curves"]["shift"][0] == 0.0


def test_every_verdict_is_a_sentence():
    verdict = TrustVerdict(chi_square=30.04, degrees=9, p=0.000432, pages=1_000)
    told = _said(verdict, by_rank=True, known_to=10)
    assert told.startswith("rank does more than hide documents from view")
    assert told.endswith("(χ² = 30.0, 9 degrees of freedom, p = 0.00043)")
    assert "depends on more than rank" in _said(verdict, by_rank=False, known_to=1)
    assert "too few swaps" in _said(TrustVerdict(0.0, 0, 1.0, 5), by_rank=True, known_to=1)


@pytest.mark.parametrize("known_to", [1, 4])
def test_a_verdict_without_slopes_says_why(known_to):
    told = _said(TrustVerdict(30.0, 9, 0.0004, 1_000), by_rank=True, known_to=known_to)
    assert f"Below rank {known_to}, clicks follow the model's scores too loosely" in told


def test_what_is_not_there_is_a_sentence(capsys, click_log, tmp_path):
    code, _, said = run(capsys, tmp_path / "nowhere")
    assert code == 2
    assert "there is no file" in said
    code, _, said = run(capsys, click_log, "--model", "shop")
    assert code == 2
    assert "no models" in said
    code, _, said = run(capsys, click_log, "--trust")
    assert code == 2
    assert "known probabilities" in said


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("clicks", ["0,0", "0,1"])
def test_where_nothing_is_clicked_at_the_first_rank_no_number_is_made_up(capsys, tmp_path, clicks):
    first, second = clicks.split(",")
    rows = [f"a,{document},{rank},{click}" for document in "de" for rank, click in ((1, first), (3, second))]
    (tmp_path / "log").write_text("\n".join(["query,document,rank,click", *rows]))
    code, printed, said = run(capsys, tmp_path / "log", "--json")
    [found] = json.loads(printed)
    assert (code, said.strip()) == (0, "")
    assert found["curves"]["raw clicks"] == found["curves"]["all pairs"] == [None, None, None]


@pytest.mark.parametrize("options", [(), ("--trust",)])
def test_a_learner_that_nobody_knows_is_named(capsys, service_log, options):
    from tests.logs.writing import change

    from rankloop.live.stores import opened

    with opened(service_log) as store:
        unknown = 'replace(settings, \'"learner":"ROLTR"\', \'"learner":"Nearest"\')'
        assert change(store, f"UPDATE models SET settings = CAST({unknown} AS BLOB) WHERE name = 'shop'")
    code, _, said = run(capsys, service_log, "--model", "shop", *options)
    assert code == 2
    assert "got 'Nearest'" in said
    assert "--plugin MODULE" in said
