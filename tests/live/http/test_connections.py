"""What comes before a request, over a real socket: heads too large or too slow, what is not HTTP, too many at once."""

import asyncio
import json
import socket
import threading

import pytest
import uvicorn
from tests.patience import PATIENCE, wait_until

from rankloop.live.http import connections
from rankloop.live.http.connections import (
    HEAD_BYTES,
    PIPELINED,
    SHOWED_A_KEY,
    UNHEARD_BYTES,
    UNREAD_BYTES,
    Connection,
    limited,
)

pytestmark = pytest.mark.xdist_group("live-http-access")


LARGE = b"x" * (1 << 20)


async def application(scope, receive, send):
    """Says how many bytes the body had, or a megabyte, or something before it has listened."""
    if scope["path"] == "/known":
        scope[SHOWED_A_KEY]()
    size, more = 0, scope["path"] != "/hasty"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    body = LARGE if scope["path"] == "/large" else str(size).encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def server():
    """The application behind guarded connections, thirty of which may be without a key."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, http=limited(30), ws="none", lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    server.port = listening.getsockname()[1]
    yield server
    server.should_exit = True
    thread.join(PATIENCE)


@pytest.fixture
def port(server):
    """Where it can be reached."""
    return server.port


def is_alone(server):
    """Whether nobody is connected."""
    return not server.server_state.connections


def talk(port, *pieces):
    """What comes back for these bytes, until the other side hangs up: (status, headers, body)."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except ConnectionError:
            pass  # it has heard enough; what it said is still there
        answer = b""
        while received := connection.recv(65536):
            answer += received
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body


def refused(port, *pieces):
    """The error that comes back, after which the connection has ended."""
    status, headers, body = talk(port, *pieces)
    assert (headers["content-type"], headers["connection"]) == ("application/json", "close")
    assert int(headers["content-length"]) == len(body)
    error = json.loads(body)["error"]
    assert len(error["message"]) > 10
    return status, error["code"]


CLOSE = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"


@pytest.mark.parametrize("sent", [
    b"NONSENSE\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET http://[ HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost x\r\n\r\n",
    b"GET / HTTP/1.1\r\nx: a\x00b\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\x00" * 100,
])  # fmt: skip
def test_what_is_not_http_is_told_so_in_json(port, sent):
    assert refused(port, sent) == (400, "malformed_request")


def test_a_head_is_read_up_to_its_limit_and_no_further(port):
    room = b"x: " + b"a" * (HEAD_BYTES - 1000) + b"\r\n\r\n"
    assert talk(port, CLOSE, room)[0] == 200
    assert refused(port, CLOSE, b"x: " + b"a" * HEAD_BYTES + b"\r\n\r\n") == (431, "head_too_large")
    assert refused(port, b"GET /" + b"a" * HEAD_BYTES + b" HTTP/1.1\r\nhost: x\r\n\r\n") == (431, "head_too_large")


def test_headers_without_end_are_cut_off(port):
    many = (b"x-%d: %s\r\n" % (i, b"a" * 1000) for i in range(100_000))
    assert refused(port, CLOSE, *many) == (431, "head_too_large")
    one = (b"a" * 65536 for _ in range(2_000))
    assert refused(port, CLOSE, b"x: ", *one) == (431, "head_too_large")


def test_nor_do_headers_after_a_body_have_no_end(port):
    body = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    many = (b"x-%d: %s\r\n" % (i, b"a" * 1000) for i in range(100_000))
    assert refused(port, body, *many) == (431, "head_too_large")


def test_a_head_that_trickles_in_is_not_waited_for(port, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.05)
    assert refused(port, b"GET / HTTP/1.1\r\nhost:") == (408, "head_too_slow")


def test_a_large_body_is_no_large_head(port):
    size = 20 * HEAD_BYTES
    sent = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % size
    assert talk(port, sent, b"a" * size)[2] == str(size).encode()
    chunked = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    pieces = [b"10000\r\n" + b"a" * HEAD_BYTES + b"\r\n"] * 20
    assert talk(port, chunked, *pieces, b"0\r\n\r\n")[2] == str(size).encode()


# Clocks

BEGUN = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\na"


def test_a_body_that_does_not_come_is_not_waited_for(port, monkeypatch):
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.05)
    assert refused(port, BEGUN) == (408, "body_too_slow")
    expecting = BEGUN.replace(b"host: x", b"host: x\r\nexpect: 100-continue")[:-1]
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(expecting)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 100")
    assert b"HTTP/1.1 408" in answer


def test_nor_is_one_that_nobody_wants_any_more(port, server, monkeypatch):
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(BEGUN.replace(b"POST /", b"POST /hasty"))
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200")
    wait_until(lambda: is_alone(server), "the connection ends")


def in_silence(work):
    """Let something happen on a connection behind which nobody is."""

    async def happen():
        config = uvicorn.Config(application, lifespan="off", timeout_keep_alive=0.01)
        connection = Connection(config=config, server_state=uvicorn.server.ServerState(), app_state={})
        connection.connection_made(Silent())
        async with asyncio.timeout(PATIENCE):
            await work(connection, connection.transport)
        connection.connection_lost(None)

    asyncio.run(happen())


def test_the_rest_of_a_large_body_is_not_taken_once_it_was_answered(port):
    head = b"POST /hasty HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (1 << 34)
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        with pytest.raises(ConnectionError):
            connection.sendall(bytes(1 << 28))


def test_who_reads_only_after_having_sent_a_little_more_is_answered(port):
    head = b"POST /hasty HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % UNHEARD_BYTES
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(head + b"a" * UNHEARD_BYTES + CLOSE + b"\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 200") == 2


def test_the_time_in_which_we_do_not_listen_is_not_theirs():
    async def listen_late(connection, transport):
        connection.data_received(BEGUN)
        connection.flow.pause_reading()
        connection._is_too_slow()
        assert not transport.is_closing()
        connection.flow.resume_reading()
        connection._is_too_slow()
        assert transport.is_closing()

    in_silence(listen_late)


def test_who_reads_slowly_but_reads_is_waited_for():
    async def read_slowly(connection, transport):
        transport.unread = 10 * UNREAD_BYTES
        connection.pause_writing()
        for _ in range(9):
            transport.unread -= UNREAD_BYTES
            connection._is_unread()
            assert not transport.is_closing()
        connection._is_unread()
        assert transport.is_closing()

    in_silence(read_slowly)


@pytest.mark.parametrize("path", [b"/large", b"/"])
def test_answers_that_nobody_reads_end_the_connection(port, server, monkeypatch, path):
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.05)
    ask = b"GET " + path + b" HTTP/1.1\r\nhost: x\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.setblocking(False)
        wait_until(lambda: not is_alone(server), "it is there")

        def ended():
            try:
                connection.send(ask)
            except BlockingIOError:
                pass
            except ConnectionError:
                return True
            return is_alone(server)

        wait_until(ended, "it is hung up on", every=0.001)


def test_nor_does_a_last_answer_hold_it(port, server, monkeypatch):
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.05)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        for _ in range(8):
            connection.sendall(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        connection.sendall(CLOSE.replace(b"GET /", b"GET /large") + b"\r\n")
        wait_until(lambda: not is_alone(server), "it is there")
        wait_until(lambda: is_alone(server), "it is hung up on")


# Many


def test_few_requests_wait_behind_another_and_what_follows_is_not_heard():
    async def ask_a_lot(connection, _):
        connection.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 1000)
        assert len(connection.pipeline) == PIPELINED
        assert not connection.cycle.keep_alive
        connection.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 1000)
        assert len(connection.pipeline) == PIPELINED

    in_silence(ask_a_lot)


def test_those_that_wait_are_answered_before_it_ends(port):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 1000)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 200") > PIPELINED
    assert answer.count(b"connection: close") == 1


def test_of_too_many_without_a_key_the_oldest_goes_and_who_has_shown_one_stays(port, server):
    def connected(path):
        connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        connection.sendall(b"GET " + path + b" HTTP/1.1\r\nhost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        return connection

    known = connected(b"/known")
    strangers = [connected(b"/") for _ in range(40)]
    answers = [connection.recv(65536) for connection in strangers[:10]]
    assert all(answer.startswith(b"HTTP/1.1 503") and b"too many connections" in answer for answer in answers)
    for connection in (known, strangers[-1]):
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    for connection in (known, *strangers):
        connection.close()


def test_an_upgrade_that_is_not_known_is_answered_as_a_request(port):
    upgrade = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n"
    assert talk(port, upgrade)[0] == 200


def test_head_has_the_headers_of_get_and_no_body(port):
    status, headers, body = talk(port, CLOSE.replace(b"GET", b"HEAD"), b"\r\n")
    assert (status, headers["content-length"], body) == (200, "1", b"")


def test_requests_one_after_the_other_share_a_connection(port):
    request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        for _ in range(3):
            connection.sendall(request)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_one_connection_too_many_is_told_so_and_so_is_the_operator(port, monkeypatch, caplog):
    monkeypatch.setattr(connections._sparing, "_said", {})
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _: (connections.SPARE_FILES + 20, 0))
    held = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for _ in range(20)]
    for connection in held:
        # Once it has answered, it has noticed them.
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    status, headers, body = talk(port, CLOSE, b"\r\n")
    assert (status, headers["retry-after"], json.loads(body)["error"]["code"]) == (503, "1", "busy")
    assert "more than 20 connections are open, so new ones are turned away" in caplog.text
    for connection in held:
        connection.close()
    wait_until(lambda: talk(port, CLOSE, b"\r\n")[0] == 200, "it notices that the others are gone")


class Silent:
    """A transport behind which nobody is."""

    def __init__(self):
        self.closed = asyncio.Event()
        self.unread = 0

    def get_extra_info(self, _):
        return None

    def get_write_buffer_size(self):
        return self.unread

    def pause_reading(self):
        pass

    resume_reading = pause_reading

    def write(self, _):
        pass

    def is_closing(self):
        return self.closed.is_set()

    def close(self):
        self.closed.set()

    abort = close


def test_who_says_nothing_is_not_kept_forever():
    async def say_nothing(_, transport):
        await transport.closed.wait()

    in_silence(say_nothing)
