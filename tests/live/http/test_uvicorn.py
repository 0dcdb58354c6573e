"""What the connections use of uvicorn beyond what it promises is there, and the pin lets nothing else in."""

import asyncio
import tomllib
from pathlib import Path

import uvicorn
from packaging.specifiers import SpecifierSet
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

OVERRIDDEN = (
    "connection_made", "connection_lost", "data_received", "on_message_begin", "on_headers_complete", "on_body",
    "on_message_complete", "pause_writing", "resume_writing", "on_response_complete", "timeout_keep_alive_handler",
)  # fmt: skip
USED = (
    "app", "connections", "cycle", "flow", "headers", "loop", "parser", "pipeline", "scope", "timeout_keep_alive",
    "timeout_keep_alive_handler", "timeout_keep_alive_task", "transport", "url", "_unset_keepalive_if_required",
)  # fmt: skip


def test_uvicorn_still_has_what_the_connections_are_made_of():
    async def names():
        config = uvicorn.Config(lambda: None, lifespan="off")
        plain = HttpToolsProtocol(config=config, server_state=uvicorn.server.ServerState(), app_state={})
        plain.on_message_begin()
        return set(dir(plain))

    gone = {name for name in OVERRIDDEN if name not in vars(HttpToolsProtocol)} | set(USED) - asyncio.run(names())
    assert not gone, (
        f"uvicorn {uvicorn.__version__} no longer has {', '.join(sorted(gone))} in its httptools connection: "
        "live/http/connections.py must follow before the pin in pyproject.toml is lifted"
    )


def test_uvicorn_is_pinned_to_the_minor_version_that_was_tested():
    wanted = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["dependencies"]
    [pin] = [SpecifierSet(one.partition("]")[2]) for one in wanted if one.startswith("uvicorn")]
    assert uvicorn.__version__ in pin, (
        f"the tests run with uvicorn {uvicorn.__version__}, which pyproject.toml excludes"
    )
    major, minor, *_ = uvicorn.__version__.split(".")
    assert f"{major}.{int(minor) + 1}" not in pin, "a minor version of uvicorn that nobody tried must not be let in"
