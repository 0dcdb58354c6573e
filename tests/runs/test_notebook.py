"""What a notebook shows of runs is HTML that needs nothing, changes nothing else, and takes names as they are."""

import re
import xml.etree.ElementTree as ElementTree

import msgspec
import numpy as np
import pytest

from rankloop.data.collection import Collection
from rankloop.learners import PDGD, ROLTR
from rankloop.runs.many import simulate_many
from rankloop.runs.notebook import Series, chart
from rankloop.runs.runs import Runs
from rankloop.simulation import simulate
from rankloop.users import noisy, perfect

from ..proofs import small

DATA = small.collection()
RUNS = simulate_many([ROLTR(), PDGD()], [noisy(), perfect()], DATA, 60, seeds=2, evaluate_every=20)
NASTY = '<script>alert("&")</script>'


@pytest.fixture(
    params=[
        RUNS[0],
        RUNS,
        Runs([]),
        simulate(ROLTR(), noisy(), DATA, 30, seed=1, evaluate_every=0),
        simulate(
            ROLTR(), msgspec.structs.replace(noisy(), name=NASTY), Collection(NASTY, DATA.train, DATA.test), 30, 1
        ),
    ],
    ids=["run", "runs", "none", "no curve", "nasty names"],
)
def html(request):
    return request.param._repr_html_()


def test_it_is_well_formed_and_brings_no_script_no_style_sheet_and_no_address(html):
    ElementTree.fromstring(f"<page>{html.replace('<br>', '<br/>')}</page>")
    assert not re.search(r"<script|<style|<link|\bid=|\bon\w+=|url\(", html)
    assert set(re.findall(r"https?://[^\"' ]+", html)) <= {"http://www.w3.org/2000/svg"}


def test_a_run_shows_its_numbers_and_both_curves():
    run = RUNS[0]
    html = run._repr_html_()
    assert html.count("<polyline") == 2
    for shown in ("ROLTR", "noisy clicks", "small", f"{run.online_ndcg:,.1f}", f"{run.offline_ndcg:.4f}"):
        assert shown in html


def test_runs_show_a_panel_for_each_user_a_line_for_each_learner_and_the_summary():
    html = RUNS._repr_html_()
    assert html.count("<svg") == 2
    assert html.count("<polyline") == 4
    assert html.count("<tr>") == 5


def test_text_and_axes_take_the_colour_of_the_page():
    drawn = chart([Series("a", "#D55E00", [0, 10], [0.1, 0.2])], "t")
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn))
    assert colours == {"currentColor", "none", "#D55E00"}


def test_lines_stay_within_their_frame_and_names_do_not_overlap():
    draw = np.random.default_rng(1)
    lines = [Series(f"line {i}", "#000", np.arange(5), 0.5 + 0.001 * draw.random(5)) for i in range(6)]
    drawn = chart(lines, "t")
    points = [
        float(y) for line in re.findall(r'points="([^"]+)"', drawn) for _, y in re.findall(r"([\d.]+),([\d.]+)", line)
    ]
    assert min(points) >= 22
    assert max(points) <= 160
    heights = [float(y) for y in re.findall(r'<text x="329" y="([\d.]+)"', drawn)]
    assert len(heights) == 6
    assert (np.diff(heights) >= 11.9).all()
