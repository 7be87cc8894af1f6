"""The page with the tables, made from the results of all rounds and the facts of the run."""

from collections.abc import Callable
from typing import Any

import stats
from stats import Summary
from systems import MANY, SLOW_MODEL_MS, STEPS

Result = dict[str, Any]
# The numbers by round.
Numbers = dict[int, float]

OURS = "holdover"
FLOW = "holdover-flow"
TITLES = {
    "holdover": "Holdover",
    "holdover-flow": "Holdover, as a flow",
    "bare": "bare writes",
    "loop": "a loop that keeps nothing",
    "langgraph": "LangGraph",
    "langgraph-delta": "LangGraph, DeltaChannel (beta)",
    "dbos": "DBOS",
    "restate": "Restate",
    "duroxide": "duroxide",
    "durare": "durare",
}
STORES = {
    "sqlite": "SQLite",
    "postgres": "Postgres",
    "redis": "Redis",
    "valkey": "Valkey",
    "redis-stack": "Redis Stack",
    "restate": "its own server",
}
# Restate's own store is a local log, so Restate is compared with Holdover on SQLite.
COMPARED_WITH = {"restate": "sqlite"}


class Table:
    """The results, found by store, system and measure."""

    def __init__(self, results: list[Result]) -> None:
        self._results = results
        self.places = list(dict.fromkeys((result["store"], result["system"]) for result in results))
        self.places.sort(key=lambda place: (list(STORES).index(place[0]), list(TITLES).index(place[1])))

    def lines(self, store: str, system: str, measure: str) -> dict[int, Result]:
        wanted = (store, system, measure)
        fits = [result for result in self._results if (result["store"], result["system"], result["measure"]) == wanted]
        return {result["round"]: result for result in fits if "line" in result}

    def numbers(self, store: str, system: str, measure: str, name: str) -> Numbers:
        lines = self.lines(store, system, measure)
        return {round_: result["line"][name] for round_, result in lines.items() if result["line"].get(name) is not None}

    def bytes_a_session(self, store: str, system: str) -> Numbers:
        """The bytes that each further session adds, by round. The size of an empty store is left out."""
        many, one = (self.lines(store, system, measure) for measure in ("many", "one"))
        return {round_: (many[round_]["bytes"] - one[round_]["bytes"]) / (MANY - 1) for round_ in many.keys() & one.keys()}

    def errors(self) -> list[str]:
        failed = [result for result in self._results if "error" in result]
        texts = [f"{TITLES[r['system']]} on {STORES[r['store']]}, {r['measure']}: {r['error']}" for r in failed]
        return list(dict.fromkeys(texts))


def render(results: list[Result], facts: dict[str, Any]) -> str:
    """The whole page. `facts`: command, date, rounds, machine, servers (settings by store), counted, missing."""
    table = Table(results)
    parts = [
        _head(facts),
        _speed(table),
        _latency(table),
        _slow_model(table),
        _resume(table),
        _stored(table, facts["counted"]),
        _settings(table, facts["servers"]),
        _notes(table, facts["missing"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(facts: dict[str, Any]) -> str:
    machine = "\n".join(f"- {name}: {value}" for name, value in facts["machine"].items())
    return f"""# Beside the peers

The same work on Holdover and on other durable engines. This page is written by `{facts["command"]}`; edit that, not this.

**Work.** A session of {STEPS} steps. A step is a mock model's answer of 200 bytes and one tool call with 200 bytes of
result. Each of the two is durable before the next begins. Model and tool answer at once.

**Measured** on {facts["date"]}, {facts["rounds"]} rounds. A round runs every system once, each in a fresh process on a
fresh store; each round begins at another system. Numbers are medians, with least and most in parentheses. Ratios are taken
within a round, then the median of the rounds.

{machine}

`bare writes` is the floor: W's payload bytes, written to the same store in as many durable commits, by nothing else. `Holdover, as a
flow` does the work as code: the answer of the model is a step, too."""


def _speed(table: Table) -> str:
    def row(store: str, system: str) -> list[str] | None:
        speed = table.numbers(store, system, "many", "steps_per_s")
        if not speed:
            return None
        cpu = table.numbers(store, system, "many", "cpu_ms_per_step")
        beside = COMPARED_WITH.get(store, store)
        ours, flow = (table.numbers(beside, name, "many", "steps_per_s") for name in (OURS, FLOW))
        return [_cell(speed, 0), _cell(cpu, 2), _ratio(system, ours, speed), _ratio(system, flow, speed)]

    columns = ["steps/s", "ms of CPU a step", "Holdover is faster by", "as a flow by"]
    note = "CPU time is that of the system's own process, without the database server's. Restate's includes its server."
    return _section(f"{MANY} sessions at once, in one process", columns, table, row, note)


def _latency(table: Table) -> str:
    def row(store: str, system: str) -> list[str] | None:
        wait = table.numbers(store, system, "one", "ms_per_step")
        if not wait:
            return None
        ours = table.numbers(COMPARED_WITH.get(store, store), OURS, "one", "ms_per_step")
        return [_cell(wait, 2), _ratio(system, wait, ours)]

    return _section("One session", ["ms a step", "Holdover is faster by"], table, row)


def _slow_model(table: Table) -> str:
    def row(store: str, system: str) -> list[str] | None:
        wait = table.numbers(store, system, "slow-model", "ms_per_step")
        over = {round_: ms - SLOW_MODEL_MS for round_, ms in wait.items()}
        loop = table.numbers("sqlite", "loop", "slow-model", "ms_per_step")
        return [_cell(wait, 2), _cell(over, 2), _text(stats.ratio(wait, loop), 2)] if wait else None

    columns = ["ms a step", "of it not the model", "times the loop"]
    note = "The loop asks the same model and makes the same calls as Holdover, in a process that keeps nothing."
    return _section(f"One session, a model of {SLOW_MODEL_MS} ms", columns, table, row, note)


def _resume(table: Table) -> str:
    def row(store: str, system: str) -> list[str] | None:
        took = table.numbers(store, system, "resume", "resume_ms")
        if not took:
            return None
        return [_cell(took, 0), _cell(table.numbers(store, system, "resume", "loading_ms"), 0)]

    note = """A process is killed (SIGKILL) in the model call of step 25. Measured: from the start of a new process to the first
model call that is new. Restate's server goes on meanwhile; only the service is killed. duroxide waits until the dead
process's lock of an activity ends, which it does after 30 s by default."""
    return _section("Resume in a new process", ["ms", "of it until the program was loaded"], table, row, note)


def _stored(table: Table, counted: dict[str, str]) -> str:
    def row(store: str, system: str) -> list[str] | None:
        stored = table.bytes_a_session(store, system)
        return [_cell({round_: bytes_ / 1000 for round_, bytes_ in stored.items()}, 1)] if stored else None

    ways = "\n".join(f"- {STORES[store]}: {way}." for store, way in counted.items())
    note = f"""(bytes of {MANY} sessions − bytes of 1 session) ÷ {MANY - 1}, right after the runs. Nothing is vacuumed or compacted
for this; SQLite itself checkpoints when a program closes its last connection. Holdover's program removes its store at its
end, and counts the same before that.

{ways}"""
    return _section("Bytes stored", ["kB a session"], table, row, note)


def _settings(table: Table, servers: dict[str, dict[str, str]]) -> str:
    rows = [f"| {STORES[store]} | server | | {_pairs(told)} |" for store, told in servers.items() if told]
    for store, system in table.places:
        for result in list(table.lines(store, system, "many").values())[:1]:
            line = result["line"]
            rows.append(f"| {STORES[store]} | {TITLES[system]} | {line.get('version', '')} | {_pairs(line.get('settings', {}))} |")
    head = "| store | what | version | settings |\n|---|---|---|---|"
    return "\n".join(["## Versions, and settings as read back at run time", "", head, *rows])


def _notes(table: Table, missing: list[str]) -> str:
    notes = [*missing, *(f"Failed: {error}." for error in table.errors())]
    return "\n".join(["## What could not be measured", "", *(f"- {note}" for note in notes)]) if notes else ""


def _section(
    title: str, columns: list[str], table: Table, row: Callable[[str, str], list[str] | None], note: str = ""
) -> str:
    rows = [(place, cells) for place in table.places if (cells := row(*place)) is not None]
    if not rows:
        return ""
    lines = [f"| store | system | {' | '.join(columns)} |", "|---|---|" + "--:|" * len(columns)]
    lines += [f"| {STORES[store]} | {TITLES[system]} | {' | '.join(cells)} |" for (store, system), cells in rows]
    return "\n\n".join(part for part in (f"## {title}", note, "\n".join(lines)) if part)


def _cell(numbers: Numbers, digits: int) -> str:
    return _text(stats.summary(list(numbers.values())), digits)


def _ratio(system: str, upper: Numbers, lower: Numbers) -> str:
    if system in (OURS, FLOW):
        return ""
    text = _text(stats.ratio(upper, lower), 2)
    return f"× {text}" if text else ""


def _text(summary: Summary | None, digits: int) -> str:
    if summary is None:
        return ""
    return f"{summary.median:,.{digits}f} ({summary.least:,.{digits}f}–{summary.most:,.{digits}f})"


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
