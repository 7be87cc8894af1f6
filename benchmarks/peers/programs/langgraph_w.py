"""Work W on LangGraph: a graph of two nodes, model and tool, in a loop, with `durability="sync"`.

The savers are the asynchronous ones, which the documentation advises for many sessions in a process.
"""

import asyncio
import operator
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Annotated, Any, TypedDict

import resume
import w
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph

SYSTEM = "langgraph"
POOL = 32


Messages = list[dict[str, str]]


def extended(messages: Messages, writes: Sequence[Messages]) -> Messages:
    return messages + [message for write in writes for message in write]


class Whole(TypedDict):
    """The usual channel: every checkpoint has the whole conversation.

    Messages are plain dictionaries: objects of langchain_core with `add_messages` take longer to serialize and merge.
    """

    messages: Annotated[Messages, operator.add]


class Delta(TypedDict):
    """The channel that stores only new messages. Its documentation calls it beta."""

    messages: Annotated[Messages, DeltaChannel(extended)]


CHANNELS = {"whole": Whole, "delta": Delta}


@asynccontextmanager
async def sqlite(url: str) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with aiosqlite.connect(url.removeprefix("sqlite:")) as connection:
        await connection.execute("PRAGMA synchronous=FULL")
        saver = AsyncSqliteSaver(connection)
        # Sets journal_mode=WAL by itself.
        await saver.setup()
        settings = {}
        for name in ("journal_mode", "synchronous"):
            row = await (await connection.execute(f"PRAGMA {name}")).fetchone()
            settings[name] = row[0] if row else None
        yield saver, settings


@asynccontextmanager
async def postgres(url: str) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool

    as_documented = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(url, min_size=POOL, max_size=POOL, kwargs=as_documented) as pool:
        await pool.wait()
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        async with pool.connection() as connection:
            row = await (await connection.execute("SHOW synchronous_commit")).fetchone()
        yield saver, {"pool": POOL, **(row or {})}


@asynccontextmanager
async def redis(url: str) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
    from langgraph.checkpoint.redis.aio import AsyncRedisSaver

    async with AsyncRedisSaver.from_conn_string(url) as saver:
        await saver.asetup()
        yield saver, {}


@asynccontextmanager
async def valkey(url: str) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
    from langgraph_checkpoint_aws import AsyncValkeySaver

    # An exhausted pool raises an error instead of waiting, and a session briefly holds more than one connection.
    async with AsyncValkeySaver.from_conn_string(url, pool_size=4 * POOL) as saver:
        yield saver, {"pool": 4 * POOL}


SAVERS = {"sqlite": sqlite, "postgres": postgres, "redis": redis, "valkey": valkey}
PACKAGES = {
    "sqlite": "langgraph-checkpoint-sqlite",
    "postgres": "langgraph-checkpoint-postgres",
    "redis": "langgraph-checkpoint-redis",
    "valkey": "langgraph-checkpoint-aws",
}


def graph(work: w.Work, saver: Any, channel: str) -> Any:
    state_type = CHANNELS[channel]

    async def model(state: Any, config: RunnableConfig) -> dict[str, Any]:
        session = config["configurable"]["thread_id"]
        step = len(state["messages"]) // 2
        if session != w.WARM and resume.announce(work, step):
            await asyncio.Event().wait()
        if work.model_ms:
            await asyncio.sleep(work.model_ms / 1000)
        return {"messages": [{"by": "model", "content": w.payload(session, step, "model")}]}

    async def tool(state: Any, config: RunnableConfig) -> dict[str, Any]:
        step = len(state["messages"]) // 2
        session = config["configurable"]["thread_id"]
        return {"messages": [{"by": "tool", "content": w.payload(session, step, "tool")}]}

    def after_tool(state: Any, config: RunnableConfig) -> str:
        steps = work.steps_of(config["configurable"]["thread_id"])
        return "model" if len(state["messages"]) // 2 < steps else END

    builder = StateGraph(state_type)
    builder.add_node("model", model)
    builder.add_node("tool", tool)
    builder.add_edge(START, "model")
    builder.add_edge("model", "tool")
    builder.add_conditional_edges("tool", after_tool, ["model", END])
    return builder.compile(checkpointer=saver)


async def run(work: w.Work, kind: str, channel: str) -> None:
    async with SAVERS[kind](work.store) as (saver, settings):
        agent = graph(work, saver, channel)

        async def session(name: str) -> None:
            config = {"configurable": {"thread_id": name}, "recursion_limit": 2 * work.steps + 10}
            # With None, the graph continues from the last checkpoint.
            given = None if work.mode == "successor" else {"messages": []}
            end = await agent.ainvoke(given, config, durability="sync")
            assert len(end["messages"]) == 2 * work.steps_of(name)

        if work.mode != "successor":
            await session(w.WARM)
        watch = w.Watch()
        await asyncio.gather(*(session(f"session-{number}") for number in range(work.sessions)))
        numbers = w.measured(work, watch.seconds(), watch.cpu_seconds())
    w.say({
        "system": SYSTEM,
        "version": f"{version('langgraph')}, {PACKAGES[kind]} {version(PACKAGES[kind])}",
        "settings": {"durability": "sync", "channel": channel, **settings},
        **numbers,
    })


def main() -> None:
    work, given = w.arguments(("--saver", list(SAVERS), "sqlite"), ("--channel", list(CHANNELS), "whole"))
    resume.loaded(work)
    if work.mode == "resume":
        same = ["--saver", given.saver, "--channel", given.channel]
        w.say({"system": SYSTEM, **resume.of_this_program(work, same)})
    else:
        asyncio.run(run(work, given.saver, given.channel))


if __name__ == "__main__":
    main()
