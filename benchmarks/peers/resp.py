"""Sends commands to a Redis server, each over a plain socket of its own."""

import socket
from typing import Any
from urllib.parse import urlsplit


def ask(url: str, *words: str) -> Any:
    """The answer to one command: text, a number, a list, or None."""
    at = urlsplit(url)
    with socket.create_connection((at.hostname or "127.0.0.1", at.port or 6379), timeout=60) as connection:
        request = b"*%d\r\n" % len(words)
        for word in words:
            request += b"$%d\r\n%s\r\n" % (len(word), word.encode())
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return _read(answer)


def information(url: str, section: str) -> dict[str, str]:
    """The lines of a section of INFO, by name."""
    lines = ask(url, "INFO", section).splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _read(answer: Any) -> Any:
    kind, rest = answer.read(1), answer.readline()[:-2].decode()
    match kind:
        case b"+":
            return rest
        case b":":
            return int(rest)
        case b"$":
            length = int(rest)
            return None if length < 0 else answer.read(length + 2)[:-2].decode()
        case b"*":
            return [_read(answer) for _ in range(int(rest))]
        case _:
            raise RuntimeError(f"redis: {rest or 'no answer'}")
