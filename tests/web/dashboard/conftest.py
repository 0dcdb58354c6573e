"""Somebody who looks, and a service with a past to look at."""

import shutil

import pytest
from tests.patience import BROWSER_PATIENCE

from rankloop.live.stores import open_store

from .running import make_past, running, shop


@pytest.fixture
def visit(chromium):
    """Opens pages as somebody would; whatever a page says on the console, asks for or pops up is noted."""
    contexts = []

    def visit(address, **settings):
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, "locale": "en-GB"} | settings)
        context.set_default_timeout(BROWSER_PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.asked, page.complaints, page.dialogs = [], [], []
        page.on("request", lambda request: page.asked.append(request))
        page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def past(tmp_path_factory):
    """The log of a model `shop` that has been visited for the last two hours and more; made once, for it takes two
    seconds of a processor."""
    path = tmp_path_factory.mktemp("past") / "log.db"
    store = open_store(str(path))
    make_past(store, shop(), minutes=150, per_minute=12)
    store.close()
    return path


@pytest.fixture(scope="module")
def service(past, tmp_path_factory):
    """A service with that past, to look at and to change."""
    address = tmp_path_factory.mktemp("dashboard") / "log.db"
    shutil.copy(past, address)
    with running(str(address)) as service:
        yield service


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """Where screenshots go, to be looked at."""
    return tmp_path_factory.mktemp("pictures")
