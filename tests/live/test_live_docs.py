"""The walk-through of docs/live.md works as written, and docs/live-api.md names everything that there is."""

import asyncio
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import pytest
from tests.patience import PATIENCE, run

from rankloop import answers as live_answers
from rankloop.client import Client, RefusedError
from rankloop.interchange import EXPORT_FORMATS
from rankloop.live import descriptions
from rankloop.live.errors import RequestError
from rankloop.live.fates import FATES
from rankloop.live.http import answers
from rankloop.live.http.app import ENDPOINTS
from rankloop.live.http.statuses import STATUSES
from rankloop.live.models import create_model
from rankloop.live.requests import Candidate, ClickBody, ClicksBody, CloseBody, RankBody, RollBackBody
from rankloop.live.scaling import Fixed
from rankloop.live.service import Service, now
from rankloop.live.settings import Guards, IncomingOrder, LiveLearner, ModelSettings, Weights
from rankloop.live.start import Report
from rankloop.live.stores import open_store

from .serving import Serving

pytestmark = [pytest.mark.xdist_group("live-docs"), pytest.mark.process]

DOCS = Path(__file__).parents[2] / "docs"
WALK = (DOCS / "live.md").read_text()
README = (DOCS.parent / "README.md").read_text()
API = (DOCS / "live-api.md").read_text()
BLOCK = re.compile(r"^```(bash|json|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BETWEEN = "---- the next block ----"

STAND_IN = f"""#!{sys.executable}
import sys, urllib.request, urllib.error
arguments, options, headers, address = sys.argv[1:], {{}}, {{}}, None
while arguments:
    word = arguments.pop(0)
    if word in ("-X", "-d"):
        options[word] = arguments.pop(0)
    elif word == "-H":
        name, _, value = arguments.pop(0).partition(": ")
        headers[name] = value
    elif word != "-s":
        assert not word.startswith("-") and address is None, f"a stand-in for curl does not know {{word}}"
        address = word
body = options.get("-d")
if body is not None:
    body = open(body[1:], "rb").read().replace(b"\\n", b"") if body.startswith("@") else body.encode()
request = urllib.request.Request(address, body, headers, method=options.get("-X"))
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    answer = error
sys.stdout.buffer.write(answer.read())
"""
"""What the page asks of curl, for machines that have none."""

FUNCTIONS = f"""
set -e
rankloop() {{ [ "$1" = serve ] || "{sys.executable}" -c 'from rankloop.cli import main; main()' "$@"; }}
"""
"""The service runs already, on a port of its own; all other commands run as they are."""


PATIENT_CLIENTS = f"""
from rankloop.client import AsyncClient, Client
for kind in (AsyncClient, Client):
    kind.__init__.__kwdefaults__["timeout"] = {PATIENCE}
"""
"""What comes before the page's programs: on a busy machine two seconds are too few for a page."""


class Rounded(NamedTuple):
    """A number as the page shows it: it stands for all that are written so with as many digits."""

    text: str

    def stands_for(self, number):
        half = 0.5000001 * 10.0 ** -len(self.text.partition(".")[2])
        return abs(number - float(self.text)) <= half


def expected(text):
    return json.loads(text, parse_float=Rounded)


def matches(wanted, found):
    """Whether an answer is what the page shows: `…` stands for anything, as a key for any other keys."""
    if wanted == "…":
        return True
    if isinstance(wanted, Rounded):
        return wanted.stands_for(found)
    if isinstance(wanted, dict):
        same = wanted.keys() == found.keys() or ("…" in wanted and wanted.keys() - {"…"} <= found.keys())
        return same and all(matches(value, found[key]) for key, value in wanted.items() if key != "…")
    if isinstance(wanted, list):
        return len(wanted) == len(found) and all(map(matches, wanted, found))
    return wanted == found


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ('{"a": 1.20}', {"a": 1.2049}, True),
        ('{"a": 1.20}', {"a": 1.2051}, False),
        ('{"a": 1}', {"a": 1, "b": 2}, False),
        ('{"a": 1, "…": "…"}', {"a": 1, "b": 2}, True),
        ('{"a": ["…", "x"]}', {"a": ["y", "x"]}, True),
        ('{"a": ["…"]}', {"a": ["y", "x"]}, False),
    ],
)
def test_an_answer_is_compared_as_exactly_as_it_is_shown(wanted, found, same):
    assert matches(expected(wanted), found) is same


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("walk")) as running:
        yield running


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A folder with something that does what the page asks of curl."""
    made = tmp_path_factory.mktemp("bin") / "curl"
    made.write_text(STAND_IN)
    made.chmod(made.stat().st_mode | stat.S_IXUSR)
    return made.parent


@pytest.fixture(scope="module")
def printed(service, stand_in):
    """All shell commands of the page, in one go: what each block printed."""
    blocks = [text for kind, text in BLOCK.findall(WALK) if kind == "bash"]
    return shell(service, f"\necho; echo '{BETWEEN}'\n".join(blocks), None if shutil.which("curl") else stand_in)


def shell(service, script, first_on_path=None):
    path = os.environ["PATH"] if first_on_path is None else f"{first_on_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", FUNCTIONS + script.replace("127.0.0.1:8080", f"127.0.0.1:{service.port}")],
        capture_output=True, text=True, timeout=PATIENCE, cwd=service.folder, env=os.environ | {"PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(BETWEEN)


def test_the_stand_in_asks_what_curl_asks(service, stand_in):
    send = "-H 'Content-Type: application/json' -d"
    [told] = shell(
        service,
        f"""
        address=http://127.0.0.1:8080/v1/models
        echo '{{"name": "by-stand-in",\n "features": 2}}' > made.json
        curl -s $address {send} @made.json
        curl -s -X POST $address/by-stand-in/pause
        curl -s "$address?dry_run=true" {send} '{{"name": "never", "features": 1}}'
        curl -s $address/never
        """,
        stand_in,
    )
    made, paused, dry, missing = map(json.loads, told.replace("}{", "}\n{").splitlines())
    assert (made["name"], paused["mode"]) == ("by-stand-in", "paused")
    assert dry["start"]["weights"] == [0.0, 1.0]
    assert missing["error"]["code"] == "no_such_model"


@pytest.mark.long
def test_every_answer_is_the_one_that_the_page_shows(printed):
    outputs = iter(printed)
    shown = BLOCK.findall(WALK)
    compared = 0
    for place, (kind, text) in enumerate(shown):
        if kind != "bash":
            continue
        output = next(outputs)
        if place + 1 < len(shown) and shown[place + 1][0] == "json":
            found = json.loads(output)
            assert matches(expected(shown[place + 1][1]), found), f"{text}\ngave\n{output}"
            compared += 1
        assert '"error"' not in output
    assert compared >= 8
    assert compared == sum(kind == "json" for kind, _ in shown)


def test_the_first_requests_of_the_readme_make_a_model_and_a_page_and_close_it(tmp_path, stand_in):
    [script] = [text for kind, text in BLOCK.findall(README) if kind == "bash"]
    with Serving(tmp_path) as fresh:
        [told] = shell(fresh, script, None if shutil.which("curl") else stand_in)
    made, page, clicked = map(json.loads, told.replace("}{", "}\n{").splitlines())
    assert (made["name"], sorted(page["ranking"])) == ("shop", ["oak", "pine"])
    assert page["group"] in ("learned", "control")
    assert (clicked["accepted"], clicked["closed"]) == (1, True)


@pytest.mark.long
def test_simulated_traffic_leaves_its_table_and_picture(printed, service):
    assert "nDCG@10 on the test split" in printed[-1]
    assert (service.folder / "tried.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_python_programs_of_the_page_run(service, tmp_path):
    programs = [text for kind, text in BLOCK.findall(WALK) if kind == "python"]
    assert len(programs) == 3
    program = "\n".join([PATIENT_CLIENTS, *programs]).replace("127.0.0.1:8080", f"127.0.0.1:{service.port}")
    done = run([sys.executable, "-c", program], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, version, second, fallback = done.stdout.splitlines()
    assert sorted(first[2:8].split("', '")) == ["a", "b"]
    assert (first.split()[-1], version) in {("learned", "1"), ("control", "0")}
    assert second.count(",") == 1
    assert fallback.startswith("['a', 'b'] fallback the service cannot be reached")


def test_clicks_meet_the_fates_of_the_table(service):
    with Client(service.url, timeout=PATIENCE) as client:
        client.create_model("fates", 1, page_size=2, seed=1, guards={"control": 0})
        page = client.rank("fates", {"a": [1.0], "b": [0.0], "c": [0.5]}, pinned={"c": 1})
        before = counted(service)
        first, second = page.ranking
        reports = [{first: 1.0, second: 0.4}, {first: 1.0}, {second: 0.9}, {second: 0.2}, {"elsewhere": 1.0}]
        told = [client.click(page.impression, clicks) for clicks in reports]
        assert [each.accepted for each in told] == [2, 0, 0, 0, 0]
        assert [each.duplicate for each in told] == [0, 1, 0, 0, 0]
        assert [each.contradictory for each in told] == [0, 0, 1, 1, 0]
        assert [each.unknown for each in told] == [[], [], [], [], ["elsewhere"]]
        client.close(page.impression, wait=True)
        weights = client.model("fates")["weights"]
        assert client.click(page.impression, [first]).late == 1
        with pytest.raises(RefusedError, match="report 1"):
            client.click_many([(page.impression, [first]), ("forged", [first])])
        assert client.model("fates")["weights"] == weights
    after = counted(service)
    fates = {"accepted": 2, "duplicate": 1, "contradictory": 2, "unknown": 1, "late": 1, "refused": 1}
    assert {fate: after[fate] - before.get(fate, 0) for fate in fates} == fates
    table = WALK.partition("## The fate of a click")[2].partition("\n## ")[0]
    assert not [fate for fate in fates if f"| `{fate}` |" not in table]


def counted(service):
    """How many clicks met which fate, as the service's metrics say."""
    text = httpx.get(f"{service.url}/metrics", timeout=PATIENCE).text
    return {fate: float(count) for fate, count in re.findall(r'fate="(\w+)",what="clicks"\} (\S+)', text)}


def test_a_page_that_was_shown_too_long_ago_is_refused_and_counted(tmp_path):
    service = Service(open_store(tmp_path / "log.db"), learn=False)
    asyncio.run(create_model(service, ModelSettings(name="shop", features=1)))
    week = 7 * 86_400_000
    ids = [service.impression_id(1, 0, now() - 1_800_000 - week + early) for early in (60_000, -60_000)]
    assert asyncio.run(service.verify(ids[0])).number == 0
    with pytest.raises(RequestError, match="too long ago"):
        asyncio.run(service.verify(ids[1]))
    assert service.counts["clicks", "refused"] == 1
    asyncio.run(service.stop())


@pytest.mark.parametrize("route", ENDPOINTS, ids=lambda route: f"{route.method} {route.path}")
def test_the_reference_names_every_address_with_its_method_and_scope(route):
    scope = route.scope or "–"
    assert re.search(rf"^\| `{route.method} {re.escape(route.path)}` \| {scope} \|", API, re.MULTILINE), route.path


BODIES = [RankBody, Candidate, ClicksBody, ClickBody, CloseBody, RollBackBody]
SETTINGS = [ModelSettings, Guards, IncomingOrder, Weights, Fixed]
ANSWERS = [Report] + [
    kind
    for module in (live_answers, descriptions, answers)
    for kind in vars(module).values()
    if isinstance(kind, type) and kind.__module__ == module.__name__
]


@pytest.mark.parametrize("kind", BODIES + SETTINGS + ANSWERS, ids=lambda kind: kind.__name__)
def test_the_reference_names_every_field(kind):
    names = {field.encode_name for field in msgspec.structs.fields(kind)}
    assert names
    assert not {name for name in names if f"`{name}`" not in API}


def test_the_reference_and_the_guide_name_every_learner_fate_and_format():
    assert not [kind.name for kind in LiveLearner.__args__ if f"`{kind.name}`" not in API]
    assert not [fate for fate in FATES if f"`{fate}`" not in WALK]
    assert not [form for form in EXPORT_FORMATS if f"`{form}`" not in API]


def test_the_reference_explains_every_code_that_the_service_answers_with():
    sources = (DOCS.parent / "src" / "rankloop" / "live").rglob("*.py")
    text = "\n".join(path.read_text() for path in sources)
    codes = set(re.findall(r'RequestError\(\s*"(\w+)"', text))
    assert len(codes) > 15
    rows = API.partition("## Errors")[2].splitlines()
    assert not {
        code for code in codes if not any(f"| {STATUSES[code]} |" in row and f"`{code}`" in row for row in rows)
    }
