"""What a process loads: nobody pays for a compiler, a store or a service that they do not use."""

import sys

import pytest
from tests.patience import run

import rankloop

COMPILER = {"numba", "llvmlite"}
HEAVY = COMPILER | {"numpy", "scipy", "pyarrow", "matplotlib", "starlette", "uvicorn"}

pytestmark = pytest.mark.process


def loaded_after(script: str, folder) -> set[str]:
    """The modules of a fresh process that has run a script."""
    ending = "\nimport sys; print('\\n' + ' '.join(sys.modules))"
    done = run([sys.executable, "-c", script + ending], check=True, cwd=folder)
    return set(done.stdout.splitlines()[-1].split())


def command(*arguments: str) -> str:
    return f"""
from rankloop.cli import main
try:
    main({list(arguments)!r})
except SystemExit as end:
    assert not end.code
"""


def test_importing_rankloop_loads_nothing_else(tmp_path):
    loaded = loaded_after("import rankloop", tmp_path)
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("rankloop")} == {"rankloop"}


def test_names_are_loaded_when_they_are_used(tmp_path):
    script = "import rankloop as rl\nassert rl.propensities.power_law(eta=1.0)\nassert rl.SettingsError"
    assert not loaded_after(script, tmp_path) & COMPILER


@pytest.mark.parametrize("address", ["rankloop.client", "rankloop.live.client"])
def test_the_client_is_light(address, tmp_path):
    loaded = loaded_after(
        f"from {address} import Client; Client('http://127.0.0.1:1').rank('a', {{'b': [1.0]}})", tmp_path
    )
    assert not loaded & HEAVY
    rooms = {name.split(".")[1] for name in loaded if name.startswith("rankloop.")}
    assert rooms - {"live"} == {"answers", "client", "errors", "settings"}
    assert not {name for name in loaded if name.startswith("rankloop.live.")} - {"rankloop.live.client"}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("run", "--help"), ("log", "--help")])
def test_help_loads_no_compiler_and_no_arrays(arguments, tmp_path):
    assert not loaded_after(command(*arguments), tmp_path) & HEAVY


def test_keys_are_made_and_listed_without_the_compiler(tmp_path):
    script = command("keys", "create", "shop", "--scope", "rank") + "\n" + command("keys", "list")
    assert not loaded_after(script, tmp_path) & (COMPILER | {"matplotlib", "starlette", "uvicorn", "rankloop.learners"})


@pytest.mark.parametrize("name", rankloop.__all__)
def test_every_public_name_is_there(name):
    assert getattr(rankloop, name) is not None
    assert name in dir(rankloop)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'rankloop' has no attribute 'nothing'"):
        rankloop.nothing  # noqa: B018


def test_every_room_is_there_without_an_import_of_its_own(tmp_path):
    rooms = ["client", "data", "interchange", "learners", "live", "metrics", "offpolicy", "propensities", "users"]
    script = f"import rankloop\nfor room in {rooms}:\n    assert getattr(rankloop, room).__name__ == 'rankloop.' + room"
    loaded_after(script, tmp_path)
    assert not hasattr(rankloop, "dada")
    assert not hasattr(rankloop, "__wrapped__")
