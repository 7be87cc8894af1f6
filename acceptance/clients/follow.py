"""Follows a session: a loop over Server-Sent Events that goes on where it was when the connection is lost."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx

from holdover_client import AuthenticatedClient
from holdover_client.models import DeltaEntry, Dropped, EndOfStream, EndReason, EventEntry, Problem, Until

# The longest wait before the next attempt to connect.
WAIT_SECONDS_MAX = 5.0
# The server sends a comment at least every 15 seconds, so a connection that is silent for longer is lost.
SILENCE_SECONDS_MAX = 45.0


@dataclass
class Item:
    """An item of the stream."""

    id: str
    data: EventEntry | DeltaEntry | Dropped | Problem | EndOfStream


class Refused(Exception):
    """The server refuses to stream."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.code}: {problem.detail}")
        self.problem = problem


def follow(
    client: AuthenticatedClient,
    session: str,
    *,
    after: str | None = None,
    until: Until = Until.FOREVER,
    messages: bool = False,
) -> Iterator[Item]:
    """Follows a session until the stream ends by itself. Yields each item once, however often the connection is lost."""
    wait = 0.1
    query = {"until": until.value, "messages": json.dumps(messages)}
    while True:
        try:
            for item in _items(client, session, query, after):
                if isinstance(item.data, EndOfStream) and item.data.reason == EndReason.STOPPING:
                    break  # It goes on at another server.
                if isinstance(item.data, Problem) and item.data.status >= 500:
                    break
                after, wait = item.id or after, 0.1
                yield item
                if isinstance(item.data, (EndOfStream, Problem)):
                    return
        except httpx.TransportError:
            pass  # The connection is lost.
        time.sleep(wait)
        wait = min(2 * wait, WAIT_SECONDS_MAX)


def _items(client: AuthenticatedClient, session: str, query: dict[str, str], after: str | None) -> Iterator[Item]:
    """Reads the items of one connection."""
    request = client.get_httpx_client().stream(
        "GET",
        f"/v1/sessions/{session}/events",
        params=query,
        headers={"Last-Event-ID": after} if after else {},
        timeout=httpx.Timeout(10, read=SILENCE_SECONDS_MAX),
    )
    with request as response:
        if response.status_code != 200:
            response.read()
            problem = Problem.from_dict(response.json())
            # An answer of 500 or more may be a server that starts or stops; any other refusal is final.
            if response.status_code < 500:
                raise Refused(problem)
            return
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
                continue
            if "data" in fields:
                yield _parsed(fields)
            fields = {}


_KINDS: dict[str, type[EventEntry] | type[DeltaEntry] | type[Dropped] | type[Problem] | type[EndOfStream]] = {
    "event": EventEntry,
    "delta": DeltaEntry,
    "dropped": Dropped,
    "problem": Problem,
    "end": EndOfStream,
}


def _parsed(fields: dict[str, str]) -> Item:
    kind = _KINDS[fields["event"]]
    return Item(fields.get("id", ""), kind.from_dict(json.loads(fields["data"])))
