"""`rankloop log` and `rankloop replay` as people type them: exit codes, sentences, JSON; beside a real service too."""

import json

import httpx
import pytest
from tests.patience import PATIENCE

from rankloop.live.clients import client_hash

from ..live.postgres_server import PASSWORD
from ..live.serving import Serving
from ..logs.writing import Log


@pytest.fixture
def log(store):
    return Log.filled(store, impressions=40)


def test_every_command_works_and_speaks_json(log, store, address, rankloop, tmp_path):
    file, backup = tmp_path / "log", tmp_path / "backup"
    new, restored = tmp_path / "new.db", tmp_path / "restored.db"
    for arguments in (
        ("export", address, file),
        ("import", file, new),
        ("backup", address, backup),
        ("restore", backup, restored),
        ("export", address, tmp_path / "ubi", "--format", "ubi", "--model", "shop"),
        ("verify", address),
        ("erase", address, "--client", "ann"),
        ("refold", address, "--model", "shop", "--yes"),
        ("compact", address, "--keep-days", "0"),
        ("verify", address),
        ("erase", new, "--client", "bob"),
        ("verify", restored),
    ):
        code, out, err = rankloop("log", *arguments, "--json")
        assert (code, err) == (0, ""), arguments
        assert json.loads(out)
    for arguments in (
        ("verify", address),
        ("erase", address, "--client", "cid"),
        ("refold", address, "--model", "shop", "--yes"),
    ):
        code, out, err = rankloop("log", *arguments)
        assert code == 0, err
        assert out.strip()
        assert PASSWORD not in out + err


def test_erasing_says_what_is_left_and_how_to_go_on(log, store, address, rankloop):
    code, out, _ = rankloop("log", "erase", address, "--client", "ann")
    assert code == 0
    assert out.startswith(
        "erased 10 impressions with their clicks; what is left of them:\n- the weights and snapshots of"
    )
    shown = "postgresql://…" if store.shared else address
    assert f"rankloop log refold {shown} --model shop --forget" in out
    for left in ("sums behind", "states that somebody rolled back", "backups"):
        assert f"\n- {left}" in out
    _, out, _ = rankloop("log", "verify", address)
    assert "shop: 4 snapshots could not be computed again: erased pages" in out
    _, out, _ = rankloop("log", "erase", address, "--client", "nobody-99")
    assert out == "nothing was erased: no page in this log was shown to a client called 'nobody-99'\n"


def test_a_file_of_clients_is_erased_by_name_or_by_hash(log, store, address, rankloop, tmp_path):
    salt = bytes.fromhex(store.fact("client_salt"))
    (tmp_path / "who.txt").write_text(f"ann\n\nhash:{client_hash('bob', salt).hex()}\n")
    code, out, err = rankloop("log", "erase", address, "--clients", str(tmp_path / "who.txt"), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["impressions"] == 20
    for wrong, said in (
        ((), "give one client with --client, or a file of them with --clients"),
        (("--client", "ann", "--clients", str(tmp_path / "who.txt")), "give one client with --client"),
        (("--clients", str(tmp_path / "nowhere.txt")), "cannot be read"),
        (("--client", "hash:xyz"), "after hash: there must be hexadecimal digits"),
    ):
        code, out, err = rankloop("log", "erase", address, *wrong)
        assert (code, out) == (2, "")
        assert said in " ".join(err.split())


def test_where_nobody_stands_out_there_are_no_suspects(log, address, rankloop):
    code, out, err = rankloop("log", "suspects", address, "--model", "shop")
    assert (code, err) == (0, "")
    assert out.rstrip().endswith("with a name: nobody stands out")


def test_a_fault_is_exit_code_1_and_a_sentence(log, store, address, rankloop):
    change = store._write.execute if not store.shared else store._server.connect().execute
    change("DELETE FROM events WHERE position = 30")
    code, out, err = rankloop("log", "verify", address)
    assert code == 1
    assert "wrong: event 30 is missing" in err
    assert "nothing is wrong" not in out
    code, out, _ = rankloop("log", "verify", address, "--json")
    assert code == 1
    assert "event 30 is missing" in json.loads(out)["problems"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("log", "verify", "none.db"),
        ("log", "verify", "text"),
        ("log", "export", "none.db", "out"),
        ("log", "export", "log.db", "nowhere/out"),
        ("log", "export", "log.db", "out", "--format", "xml"),
        ("log", "export", "log.db", "out", "--model", "shop"),
        ("log", "import", "text", "new.db"),
        ("log", "import", "none", "new.db"),
        ("log", "import", "file", "log.db"),
        ("log", "backup", "none.db", "out"),
        ("log", "backup", "log.db", "log.db"),
        ("log", "restore", "text", "new.db"),
        ("log", "restore", "file", "log.db"),
        ("log", "compact", "log.db", "--keep-days", "-1"),
        ("log", "compact", "none.db", "--keep-days", "1"),
        ("log", "erase", "log.db", "--client", ""),
        ("log", "refold", "log.db", "--model", "shoe"),
        ("replay", "none.db"),
        ("replay", "text"),
        ("replay", "log.db", "--learner", "DBGD"),
        ("replay", "log.db", "--model", "shoe"),
        ("replay", "log.db", "--set", "x"),
        ("replay", "log.db", "--from", "7"),
        ("replay", "log.db", "--evaluate", "1.5"),
        ("replay", "log.db", "--picture", "picture.txt"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_exit_code_2_one_sentence_and_no_file(arguments, rankloop, made, monkeypatch):
    monkeypatch.chdir(made)
    before = {path.name for path in made.iterdir() if not path.name.endswith(("-wal", "-shm", ".lease"))}
    code, _, err = rankloop(*arguments)
    assert code == 2
    assert err.startswith("rankloop: ")
    assert "Traceback" not in err
    assert {path.name for path in made.iterdir() if not path.name.endswith(("-wal", "-shm", ".lease"))} == before


@pytest.mark.process
@pytest.mark.slow
def test_upkeep_beside_a_service_that_is_learning(rankloop, tmp_path):
    with Serving(tmp_path) as service, httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
        made = client.post(
            "/v1/models", json={"name": "shop", "features": 2, "page_size": 2, "seed": 1, "guards": {"control": 0}}
        )
        assert made.status_code == 201

        def answered(address, body, *, by):
            """The answer to a request, sent again as long as a busy machine lets the store wait too long."""
            for _ in range(20):
                answer = client.post(address, json=body)
                if answer.status_code == 200 and answer.json().get(by) is not None:
                    return answer.json()
            raise AssertionError(f"{address}: {answer.text}")

        def visit(number):
            candidates = [{"id": name, "features": [number % 5, place]} for place, name in enumerate("abc")]
            asked = {"query": "lamp", "client": f"client {number % 3}", "candidates": candidates}
            ranked = answered("/v1/models/shop/rank", asked, by="impression")
            clicked = {"impression": ranked["impression"], "clicks": ranked["ranking"][:1]}
            answered("/v1/clicks", clicked, by="accepted")
            return answered(f"/v1/impressions/{ranked['impression']}/close", {"wait": True}, by="closed")["version"]

        version = [visit(number) for number in range(30)][-1]
        assert version == 30
        for arguments in (
            ("backup", service.address, tmp_path / "backup"),
            ("verify", service.address),
            ("erase", service.address, "--client", "client 1"),
            ("refold", service.address, "--model", "shop", "--yes", "--forget"),
            ("compact", service.address, "--keep-days", "0"),
            ("verify", service.address),
            ("export", service.address, tmp_path / "log"),
        ):
            code, out, err = rankloop("log", *arguments, "--json")
            assert code == 0, (arguments, out, err)
            version += arguments[0] == "refold"
            assert visit(7) == version + 1  # the service goes on
            version += 1
        weights = client.get("/v1/models/shop").json()["weights"]
        service.stop()
        service.start()
        assert httpx.get(f"{service.url}/v1/models/shop").json()["weights"] == weights
    assert rankloop("log", "verify", service.address)[0] == 0
    assert "Traceback" not in service.output
