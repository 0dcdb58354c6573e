"""The files to deploy with: they can be read, and name what there is: metrics, commands, options, folders."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.patience import PATIENCE
from tests.skipping import skip_here

from rankloop.cli import app
from rankloop.live.http.metrics import Metrics
from rankloop.live.service import Service
from rankloop.live.stores import open_store

HERE = Path(__file__).parents[1]
DOCKERFILE = (HERE / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((HERE / "compose.yaml").read_text())
UNIT = (HERE / "deploy" / "rankloop.service").read_text()
ALERTS = yaml.safe_load((HERE / "deploy" / "alerts.yaml").read_text())
DASHBOARD = json.loads((HERE / "deploy" / "dashboard.json").read_text())
DOCS = (HERE / "docs" / "deploy.md").read_text()
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """The names of all metrics that a service has."""
    service = Service(open_store(tmp_path_factory.mktemp("store") / "log.db"), learn=False)
    families = list(Metrics(service).collect())
    service.store.close()
    endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
    return {family.name + ending for family in families for ending in endings[family.type]}


def named(expression):
    return set(re.findall(r"\brankloop_\w+", expression))


def test_alerts_are_about_metrics_that_there_are_and_are_explained(metrics):
    for rule in RULES:
        assert named(rule["expr"]) <= metrics, rule["alert"]
        assert rule["annotations"]["summary"]
        assert f"| `{rule['alert']}` |" in DOCS


def test_the_dashboard_shows_metrics_that_there_are(metrics):
    shown = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    assert len(shown) >= 8
    assert set().union(*map(named, shown)) <= metrics


def options(command):
    return {option for parameter in known_commands()[command].params for option in parameter.opts}


def known_commands():
    import typer

    return typer.main.get_command(app).commands


def assert_serves(words):
    assert words[0] == "serve"
    assert {word for word in words if word.startswith("--")} <= options("serve")


def test_the_image_is_small_unprivileged_and_holds_its_kernels():
    stages = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert stages == ["python:${PYTHON}-slim-bookworm"] * 2
    last = DOCKERFILE.rpartition("FROM ")[2]
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    assert "HEALTHCHECK" in last
    assert "/healthz" in last
    assert "pip" not in last
    assert "-m rankloop.live.rehearsal" in DOCKERFILE
    assert DOCKERFILE.count("NUMBA_CACHE_DIR=/opt/rankloop/compiled NUMBA_CPU_NAME=${CPU}") == 2
    assert_serves(json.loads(re.search(r"^CMD (\[.*\])$", last, re.MULTILINE)[1]))
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        for name in copied.split():
            assert (HERE / name).exists()
            assert f"!{name}\n" in (HERE / ".dockerignore").read_text()


def test_two_replicas_share_one_server_and_write_nowhere_else():
    services = COMPOSE["services"]
    for name in ("one", "two"):
        assert services[name]["read_only"]
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["depends_on"] == {"db": {"condition": "service_healthy"}}
        assert_serves(services[name]["command"])
        assert all(port.startswith("127.0.0.1:") for port in services[name]["ports"])
    assert services["one"]["command"] == services["two"]["command"]
    assert services["keys"]["profiles"] == ["tools"]
    assert set(COMPOSE["volumes"]) == {volume.partition(":")[0] for volume in services["db"]["volumes"]}


def test_the_unit_starts_a_command_that_there_is_and_is_hardened():
    started = re.search(r"^ExecStart=\S+/rankloop (.*)$", UNIT, re.MULTILINE)[1]
    assert_serves(shlex.split(started))
    for line in (
        "DynamicUser=yes",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "UMask=0077",
    ):
        assert f"\n{line}\n" in UNIT


@pytest.mark.process
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    if not shutil.which("systemd-analyze"):
        skip_here("no systemd on this kind of machine")
    # The command need not be installed here: something that can be run stands for it.
    unit = tmp_path / "rankloop.service"
    unit.write_text(UNIT.replace("/opt/rankloop/bin/rankloop", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert "rankloop.service" not in done.stderr, done.stderr
