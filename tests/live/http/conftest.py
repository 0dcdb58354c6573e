"""What tests of the API share: a service in this process, and one model that has learned something."""

import pytest
from tests.patience import wait_until

from .running import Running, everything

ROWS = {"a": [3.0, 1.0], "b": [2.0, 0.0], "c": [1.0, 2.0], "d": [0.0, 0.5]}


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """A service with a model `shop` of two features, `engine` and `price`, that has learned from two pages."""
    with Running(tmp_path_factory.mktemp("api") / "log.db") as running:
        running.model("shop", ["engine", "price"], page_size=3, scaling="none")
        for _ in range(2):
            running.learn("shop", ROWS, client="somebody")
        wait_for_snapshot(running, "shop", 2)
        yield running


def wait_for_snapshot(app, model, version):
    """Until the learner has kept a version, which it does a moment after it learned it."""

    def versions():
        return [kept["version"] for kept in app.get(f"/v1/models/{model}/snapshots").json()["snapshots"]]

    wait_until(lambda: version in versions(), lambda: f"version {version} is kept beside {versions()}")


@pytest.fixture
def refused(app):
    """Sends a request that must be refused: checks the error and that nothing happened; its sentence."""

    def send(method, path, status, code=None, **more):
        before = everything(app)
        answer = app.ask(method, path, **more)
        assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
        assert answer.headers["content-type"] == "application/json"
        error = answer.json()["error"]
        assert set(error) == {"code", "message"}
        assert code is None or error["code"] == code, error
        assert 10 < len(error["message"]) <= 1002
        assert everything(app) == before
        assert app.get("/healthz").json() == {"status": "ok"}
        return error["message"]

    return send
