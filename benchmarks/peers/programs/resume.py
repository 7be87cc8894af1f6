"""Measures how long a new process takes to continue a workflow whose process was killed."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

import w

PATIENCE_S = 120


def announce(work: w.Work, step: int) -> bool:
    """Called by a model before it answers. Returns True if the model must wait until this process is killed."""
    if work.mode == "work":
        return False
    print(json.dumps({"step": step}), flush=True)
    return work.mode == "successor" or step >= w.KILLED_AT


def loaded(work: w.Work) -> None:
    """Called once the libraries are imported. The successor reports it."""
    if work.mode == "successor":
        print(json.dumps({"loaded": True}), flush=True)


def measure(doomed: list[str], successor: list[str]) -> dict[str, Any]:
    """Kills `doomed` at its step 25 and times `successor` from its start to its first model call."""
    first = subprocess.Popen(doomed, stdout=subprocess.PIPE)
    _wait(first, lambda line: line.get("step", 0) >= w.KILLED_AT)
    first.send_signal(signal.SIGKILL)
    first.wait()
    begun = time.perf_counter()
    second = subprocess.Popen(successor, stdout=subprocess.PIPE)
    loaded_at: list[float] = []

    def is_step(line: dict[str, Any]) -> bool:
        if "loaded" in line:
            loaded_at.append(time.perf_counter())
        return "step" in line

    reached = _wait(second, is_step)
    ended = time.perf_counter()
    second.kill()
    second.wait()
    if reached["step"] < w.KILLED_AT - 1:
        raise SystemExit(f"it began again at step {reached['step']}")
    return {
        "resume_ms": (ended - begun) * 1000,
        "loading_ms": (loaded_at[0] - begun) * 1000 if loaded_at else None,
        "resumed_at": reached["step"],
    }


def of_this_program(work: w.Work, extra: list[str]) -> dict[str, Any]:
    """Measures the program that runs now, as both processes."""
    command = [sys.executable, sys.argv[0]]
    rest = ["--store", work.store, *extra]
    return measure([*command, "doomed", *rest], [*command, "successor", *rest])


def _wait(process: subprocess.Popen[bytes], wanted: Any) -> dict[str, Any]:
    """Returns the first line of output that is wanted. Lines that are not JSON objects are skipped."""
    assert process.stdout is not None
    output, pending, until = process.stdout.fileno(), b"", time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if not select.select([output], [], [], 1)[0]:
            continue
        read = os.read(output, 65536)
        if not read:
            break
        *lines, pending = (pending + read).split(b"\n")
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict) and wanted(said):
                return said
    process.kill()
    process.wait()
    raise SystemExit("a process to be resumed ended, or did not reach its step in time")
