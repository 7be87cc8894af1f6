"""Runs every job once a round, each in a fresh process on a fresh store. Each round begins at another job."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import stats
from stores import Store
from systems import System

JOB_WITHIN_S = 900

# One run: its round, system, store and measure; then `line`, as printed, and `bytes`; or else `error`.
Result = dict[str, Any]


def play(systems: list[System], stores: dict[str, Store], rounds: int, keep: Callable[[list[Result]], None]) -> list[Result]:
    """Runs all rounds. `keep` is called after each run with the results so far."""
    jobs = [(system, measure) for system in systems for measure in system.measures()]
    results: list[Result] = []
    for round_ in range(rounds):
        for number, (system, measure) in enumerate(stats.rotated(jobs, round_, rounds)):
            named = {"round": round_, "system": system.name, "store": system.store, "measure": measure}
            result = {**named, **_run(system, stores[system.store], measure)}
            results.append(result)
            keep(results)
            at = f"round {round_ + 1} of {rounds}, {number + 1} of {len(jobs)}"
            print(f"{at}: {system.name} on {system.store}, {measure}: {_brief(result)}", file=sys.stderr, flush=True)
    return results


def _run(system: System, store: Store, measure: str) -> dict[str, Any]:
    command = system.command(measure, store.fresh())
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=JOB_WITHIN_S
        )
    except subprocess.TimeoutExpired:
        return {"error": f"did not end within {JOB_WITHIN_S} s"}
    line = _last_object(ended.stdout)
    if ended.returncode != 0 or line is None:
        words = (ended.stderr.strip() or ended.stdout.strip() or "it printed nothing").splitlines()
        return {"error": f"ended with {ended.returncode}: {words[-1][:300]}"}
    return {"line": line, "bytes": _stored(line, store)}


def _stored(line: dict[str, Any], store: Store) -> int:
    """The bytes that a run stored. Holdover's program removes its store, and reports the bytes of a session before that."""
    if "bytes_stored" in line:
        return line["bytes_stored"] * line["sessions"]
    return store.bytes_stored()


def _last_object(text: str) -> dict[str, Any] | None:
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return None


def _brief(result: Result) -> str:
    if "error" in result:
        return str(result["error"])
    line = result["line"]
    if "resume_ms" in line:
        return f"{line['resume_ms']:.0f} ms"
    return f"{line['steps_per_s']:.0f} steps/s, {line['ms_per_step']:.2f} ms a step"
