"""Work W, shared by the Python peers: the payloads, the command line, and the line of results."""

import argparse
import base64
import hashlib
import json
import resource
import time
from dataclasses import dataclass
from typing import Any

PAYLOAD_BYTES = 200
# The step at which a process is killed to measure how a new one resumes.
KILLED_AT = 25
# A short session before the clock starts: what a process does only once is not part of a step.
WARM, WARM_STEPS = "warm-up", 5


@dataclass(frozen=True)
class Work:
    """The arguments of one run."""

    mode: str
    store: str
    sessions: int
    steps: int
    model_ms: float

    def steps_of(self, session: str) -> int:
        return WARM_STEPS if session == WARM else self.steps


def arguments(*extra: tuple[str, list[str], str]) -> tuple[Work, argparse.Namespace]:
    """The command line of a peer's program; `extra` names further options, their choices and defaults."""
    parser = argparse.ArgumentParser()
    # `doomed` and `successor` are the two processes that `resume` starts.
    parser.add_argument("mode", choices=["work", "resume", "doomed", "successor"])
    parser.add_argument("--store", required=True)
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--model-ms", type=float, default=0)
    for name, choices, default in extra:
        parser.add_argument(name, choices=choices, default=default)
    given = parser.parse_args()
    return Work(given.mode, given.store, given.sessions, given.steps, given.model_ms), given


def payload(session: str, step: int, part: str) -> str:
    """200 ASCII characters that no compression shrinks much, different for each session, step and part."""
    seed = f"{session}/{step}/{part}".encode()
    return base64.b64encode(hashlib.shake_256(seed).digest(PAYLOAD_BYTES * 3 // 4)).decode()


class Watch:
    """Wall time and CPU time of this process since the watch was created."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()

    def seconds(self) -> float:
        return time.perf_counter() - self._wall

    def cpu_seconds(self) -> float:
        return _cpu_seconds() - self._cpu


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(work: Work, seconds: float, cpu_seconds: float | None) -> dict[str, Any]:
    """The numbers of a run, under the names that every program uses."""
    steps = work.sessions * work.steps
    return {
        "sessions": work.sessions,
        "steps": work.steps,
        "model_ms": work.model_ms,
        "seconds": seconds,
        "steps_per_s": steps / seconds,
        # What one session waits for one step.
        "ms_per_step": seconds * 1000 / work.steps,
        "cpu_ms_per_step": None if cpu_seconds is None else cpu_seconds * 1000 / steps,
    }


def say(line: dict[str, Any]) -> None:
    """Prints the one line that the driver reads."""
    print(json.dumps(line), flush=True)
