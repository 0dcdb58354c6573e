"""The shops in examples/, as people run them: beside a service, with a real engine, and people who want something."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.live.serving import Serving
from tests.patience import run

EXAMPLES = Path(__file__).parents[1] / "examples"
MOST_LINES = 100

pytestmark = [pytest.mark.process, pytest.mark.slow]


def clicks_per_page(done: subprocess.CompletedProcess[str]) -> tuple[float, float]:
    assert done.returncode == 0, done.stderr
    found = re.search(r"clicks per page: ([\d.]+) in the engine's order, ([\d.]+) after", done.stdout)
    assert found, done.stdout
    return float(found[1]), float(found[2])


def test_a_shop_behind_sqlite_learns_what_its_visitors_want(tmp_path):
    words = [sys.executable, str(EXAMPLES / "shop_with_sqlite.py")]
    with Serving(tmp_path) as service:
        before, after = clicks_per_page(run([*words, service.url]))
        assert after > 1.2 * before
        # Again, with the model that is there: it knows already, and few visitors are enough.
        again = "import sys, shop_with_sqlite as it; it.shop(it.Engine(), sys.argv[1], visits=20)"
        assert clicks_per_page(run([sys.executable, "-c", again, service.url], cwd=EXAMPLES))[1] > 1.2 * before


def test_a_shop_behind_postgresql_does_too(tmp_path, postgres_address):
    with Serving(tmp_path) as service:
        words = [sys.executable, str(EXAMPLES / "shop_with_postgres.py"), service.url, postgres_address]
        before, after = clicks_per_page(run(words))
    assert after > 1.2 * before


def test_clicks_lose_money_and_values_do_not():
    done = run([sys.executable, str(EXAMPLES / "values.py"), "--visits", "1500", "--seeds", "1"])
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(.{24})  +(\d+) +([\d.]+) ±", done.stdout, flags=re.MULTILINE)
    clicks, purchases = ({name.strip(): float(row[place]) for name, *row in rows} for place in (0, 1))
    engine = "nothing: the engine"
    assert clicks["clicks alone"] > 1.5 * clicks[engine]
    assert purchases["clicks alone"] < 0.75 * purchases[engine]
    assert purchases["purchases alone"] > 1.4 * purchases[engine]


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("shop_with_*.py")), ids=lambda path: path.name)
def test_an_example_fits_on_two_screens(example):
    assert len(example.read_text().splitlines()) < MOST_LINES
