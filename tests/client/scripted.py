"""Servers that say what a test has them say, and an address where there is none."""

import socket
import threading

NOBODY = "http://127.0.0.1:1"
"""A port that no test is given, so nobody ever listens there."""
CANDIDATES = {"a": [3.0, 1.0], "b": [2.0, 0.0], "c": [1.0, 2.0], "d": [0.0, 0.5]}


def scripted(*answers: bytes):
    """A server that gives these answers, one to each connection, whatever it is asked; its address."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        for answer in answers:
            connection, _ = listening.accept()
            connection.recv(1 << 16)
            connection.sendall(answer)
            connection.close()
        listening.close()

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def answer(status: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return head.encode() + body
