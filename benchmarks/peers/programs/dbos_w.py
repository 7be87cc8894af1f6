"""Work W on DBOS: a workflow whose model and tool calls are steps.

Workflows are plain functions, each on a thread of its own. The same with `async` functions took the same time and a
third more CPU time, since DBOS hands each of their writes to a thread. A pool of 32 connections was not faster than
the default of 20.
"""

import os
import sqlite3
import threading
import time
from importlib.metadata import version
from typing import Any

import resume
import w
from dbos import DBOS, DBOSConfig, SetWorkflowID

SYSTEM = "dbos"


def launch(work: w.Work) -> dict[str, Any]:
    """Starts DBOS, which also recovers what an earlier process left, and reads its settings back."""
    config: DBOSConfig = {
        "name": "peers",
        "system_database_url": database(work.store),
        "application_version": "1",
        "log_level": "ERROR",
    }
    DBOS(config=config)
    define(work)
    DBOS.launch()
    return settings(work.store)


def database(store: str) -> str:
    if not store.startswith("sqlite:"):
        return store.replace("postgres://", "postgresql+psycopg://")
    path = os.path.abspath(store.removeprefix("sqlite:"))
    # DBOS keeps SQLite's default, the rollback journal, with which it was half as fast. The file keeps the mode set here.
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    return f"sqlite:///{path}"


def settings(store: str) -> dict[str, Any]:
    """Returns the settings, read on a connection of DBOS's own pool."""
    from dbos._dbos import _get_dbos_instance

    names = ("journal_mode", "synchronous") if store.startswith("sqlite:") else ("synchronous_commit",)
    word = "PRAGMA" if store.startswith("sqlite:") else "SHOW"
    with _get_dbos_instance()._sys_db.engine.connect() as connection:
        return {name: connection.exec_driver_sql(f"{word} {name}").scalar() for name in names}


def define(work: w.Work) -> None:
    global agent

    @DBOS.step()
    def model(session: str, step: int) -> str:
        if session != w.WARM and resume.announce(work, step):
            threading.Event().wait()
        if work.model_ms:
            time.sleep(work.model_ms / 1000)
        return w.payload(session, step, "model")

    @DBOS.step()
    def tool(session: str, step: int) -> str:
        return w.payload(session, step, "tool")

    @DBOS.workflow()
    def agent(session: str) -> int:
        messages = []
        for step in range(work.steps_of(session)):
            messages.append(model(session, step))
            messages.append(tool(session, step))
        return len(messages)


def run(work: w.Work) -> None:
    read_back = launch(work)

    def start(session: str) -> Any:
        with SetWorkflowID(session):
            return DBOS.start_workflow(agent, session)

    if work.mode == "successor":
        # Recovery goes on in threads of DBOS.
        threading.Event().wait()
    assert start(w.WARM).get_result() == 2 * w.WARM_STEPS
    watch = w.Watch()
    handles = [start(f"session-{number}") for number in range(work.sessions)]
    assert [handle.get_result() for handle in handles] == [2 * work.steps] * work.sessions
    numbers = w.measured(work, watch.seconds(), watch.cpu_seconds())
    DBOS.destroy()
    w.say({"system": SYSTEM, "version": version("dbos"), "settings": read_back, **numbers})


def main() -> None:
    work, _ = w.arguments()
    resume.loaded(work)
    if work.mode == "resume":
        w.say({"system": SYSTEM, **resume.of_this_program(work, [])})
    else:
        run(work)


if __name__ == "__main__":
    main()
