"""The Python SDK (mcp), which speaks the protocol of 2025 and that of 2026-07-28."""

import asyncio
import os

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

START = {"agent": "clerk", "message": "refund order 7"}


def server():
    arguments = ["mcp", "agent.toml", "--as", "ann"]
    return StdioServerParameters(command=os.environ["HOLDOVER"], args=arguments, cwd=os.environ["STAGE"])


def http():
    headers = {"authorization": f"Bearer {os.environ['TOKEN']}"}
    client = httpx2.AsyncClient(headers=headers, timeout=60)
    return streamable_http_client(os.environ["MCP_URL"], http_client=client)


def told(message):
    match message["role"]:
        case "decision":
            return f"decision: {message['decision']['by']}: {message['decision']['reason']}"
        case "assistant":
            return "assistant: " + "".join(part["text"] for part in message["parts"] if part["type"] == "text")
        case "tool":
            return f"tool: {message['content'].strip()}"
        case role:
            return f"{role}: {message['text']}"


async def ended(call, session, state):
    assert state["result"]["text"] == "Order 7 is paid back.", state
    assert state["pending"]["items"] == [], state
    items = (await call("read_transcript", {"session": session}))["items"]
    assert [told(item["message"]) for item in items] == [
        "user: refund order 7",
        "assistant: I ask for it.",
        "decision: ann: she called us",
        "tool: exit code 0\nstdout:\nreceipt 4711",
        "assistant: Order 7 is paid back.",
    ], items


async def by_tool(call, asked):
    session = (await call("start_session", START))["session"]
    waits = await call("wait", {"session": session})
    assert waits["ended"] == "waits", waits
    [pending] = waits["pending"]["items"]
    assert (pending["tool"], pending["prompt"]) == ("run_command", "money leaves the house"), pending
    decision = {"session": session, "pending": pending["id"], "digest": pending["digest"]}
    decision |= {"decision": "approve", "reason": "she called us"}
    assert (await call("decide", decision))["accepted"] is True
    await ended(call, session, await call("wait", {"session": session}))
    assert asked == []


async def by_form(call, asked):
    started = await call("start_session", START | {"wait_seconds": 30})
    assert started["state"]["ended"] == "over", started
    [form] = asked
    assert "Tool: run_command" in form and "echo receipt 4711" in form and "money leaves the house" in form, form
    await ended(call, started["session"], started["state"])


async def play(name, server, mode, job):
    asked, heard = [], []

    async def show(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"decision": "approve", "reason": "she called us"})

    async def progress(_progress, _total, message):
        heard.append(message)

    forms = show if job is by_form else None
    async with Client(server, mode=mode, elicitation_callback=forms) as client:
        await client.list_tools()

        async def call(tool, arguments):
            result = await client.call_tool(tool, arguments, progress_callback=progress)
            assert not result.is_error, result
            return result.structured_content

        await job(call, asked)
        sessions = await client.list_resources()
        assert any(str(session.uri).startswith("holdover://sessions/") for session in sessions.resources)
    assert any("run_command" in note for note in heard), heard
    print(f"played: {name}", flush=True)


async def main():
    for mode in ["legacy", "2026-07-28"]:
        await play(f"python, {mode}, stdio, by tool", server(), mode, by_tool)
        await play(f"python, {mode}, stdio, by form", server(), mode, by_form)
        await play(f"python, {mode}, HTTP, by tool", http(), mode, by_tool)
    await play("python, 2026-07-28, HTTP, by form", http(), "2026-07-28", by_form)


asyncio.run(main())
