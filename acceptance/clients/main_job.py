"""Plays the main job with a client that was generated from the description. The arguments are the URL and the token."""

import json
import sys
from http import HTTPStatus

from follow import follow
from holdover_client import AuthenticatedClient
from holdover_client.api.messages import list_messages
from holdover_client.api.pending import approve, list_pending_of_session
from holdover_client.api.sessions import delete_session, get_session, list_sessions, start_session
from holdover_client.models import (
    Approval,
    AssistantPartText,
    Delivery,
    EventEntry,
    EventStepStarted,
    Labels,
    MessageAssistant,
    MessageDecision,
    MessageEntry,
    MessageUser,
    NewSession,
    PendingList,
    Problem,
    SessionPage,
    SessionStatus,
    Started,
    Transcript,
    Until,
)

url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token)


def texts_of(message: object) -> list[str]:
    """Returns the texts that a person or the model wrote."""
    if isinstance(message, MessageUser):
        return [message.text]
    if isinstance(message, MessageAssistant):
        return [part.text for part in message.parts if isinstance(part, AssistantPartText)]
    return []


# A start under a key: its repeat finds the same session.
labels = Labels()
labels["made_by"] = "python"
new = NewSession(agent="clerk", message="make a note", labels=labels)
first = start_session.sync_detailed(client=client, body=new, idempotency_key="python")
again = start_session.sync_detailed(client=client, body=new, idempotency_key="python")
assert isinstance(first.parsed, Started) and isinstance(again.parsed, Started), (first, again)
assert (first.status_code, first.parsed.duplicate) == (HTTPStatus.CREATED, False)
assert (again.status_code, again.parsed.duplicate) == (HTTPStatus.OK, True)
assert again.parsed.session == first.parsed.session
session = first.parsed.session

# Follow it until it waits for a person.
texts: list[str] = []
ids: set[str] = set()
steps: list[int] = []


def read(after: str | None, until: Until) -> str:
    """Follows the session to this point. Returns the cursor."""
    cursor = after or ""
    for item in follow(client, session, after=after, until=until, messages=True):
        assert not isinstance(item.data, Problem), item.data.detail
        cursor = item.id
        if not isinstance(item.data, EventEntry):
            continue
        assert item.id not in ids, f"{item.id} came twice"
        ids.add(item.id)
        if isinstance(item.data.event, EventStepStarted):
            steps.append(item.data.event.step)
        if isinstance(item.data.message, MessageEntry):
            texts.extend(texts_of(item.data.message.message))
    return cursor


cursor = read(None, Until.PARKED)

# A person sees the call, and decides on exactly these arguments.
pending = list_pending_of_session.sync(session, client=client)
assert isinstance(pending, PendingList), pending
call = pending.items[0]
assert (call.tool, call.kind, json.loads(call.arguments)["content"]) == ("write_file", "approval", "rain"), call
refused = approve.sync_detailed(session, call.id, client=client, body=Approval(digest="0" * 64))
assert isinstance(refused.parsed, Problem), refused
assert (refused.status_code, refused.parsed.code) == (HTTPStatus.CONFLICT, "not_seen"), refused
approved = approve.sync(session, call.id, client=client, body=Approval(digest=call.digest))
assert isinstance(approved, Delivery) and approved.accepted, approved

# Follow it to its end. The transcript says the same as the events did.
read(cursor, Until.REST)
assert steps == [1, 2], steps
transcript = list_messages.sync(session, client=client)
assert isinstance(transcript, Transcript), transcript
said = [text for entry in transcript.items for text in texts_of(entry.message)]
assert said == ["make a note", "I ask first.", "It is written down: «Grüße, 東京»."], said
assert texts == said, texts
assert any(isinstance(entry.message, MessageDecision) for entry in transcript.items), transcript


# Find it in a list, and delete it.
def listed(*status: SessionStatus) -> list[str]:
    """Returns the sessions of this program with one of these statuses."""
    page = list_sessions.sync(client=client, status=list(status), label=["made_by=python"])
    assert isinstance(page, SessionPage), page
    return [found.session for found in page.items]


assert listed(SessionStatus.IDLE, SessionStatus.FAILED) == [session]
assert listed(SessionStatus.SUSPENDED) == []
assert delete_session.sync_detailed(session, client=client).status_code == HTTPStatus.NO_CONTENT
gone = get_session.sync(session, client=client)
assert isinstance(gone, Problem) and gone.status == HTTPStatus.NOT_FOUND, gone
print("python: the main job is played")
