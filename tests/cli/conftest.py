"""The command line as people type it, in this process."""

import pytest
from tests.patience import A_SERVICE, PATIENCE, be_patient

# What shares a store in this process gives up on it no sooner than the tests do.
be_patient(*A_SERVICE, "rankloop.logs.refolding", "rankloop.cli.app")


@pytest.fixture
def rankloop(capsys):
    """The command line: (exit code, standard output, standard error)."""
    from rankloop.cli import main

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return ended.value.code, told.out, told.err

    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a log, its export, and a text."""
    from rankloop.live.stores import opened

    from ..logs.writing import Log, exported

    folder = tmp_path_factory.mktemp("made")
    with opened(folder / "log.db") as store:
        Log.filled(store, impressions=20)
    exported(folder / "log.db", folder / "file")
    (folder / "text").write_text("not a log\n")
    return folder


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with a model, `shop`."""
    from rankloop.client import Client

    from ..live.serving import Serving

    with Serving(tmp_path_factory.mktemp("service")) as running, Client(running.url, timeout=PATIENCE) as client:
        client.create_model("shop", 2, page_size=3, seed=1, start="zeros", guards={"control": 0})
        yield running
