"""Runs the program of a compiled peer. It does the work itself; only the kill for the resume happens here."""

import os
import subprocess
import sys
from pathlib import Path

import resume
import w

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import paths  # noqa: E402


def run(system: str, *, finishes: bool) -> None:
    """Runs the program of `system`. `finishes`: it can also end a resumed session and check what is stored."""
    work, _ = w.arguments()
    # duroxide would write a line each time that it finds the database locked.
    os.environ["RUST_LOG"] = "off"
    program = str(paths.COMPILED[system])
    if work.mode != "resume":
        raise SystemExit(subprocess.run([program, *sys.argv[1:]], check=False).returncode)
    store = ["--store", work.store]
    measured = resume.measure([program, "doomed", *store], [program, "successor", *store])
    if finishes:
        subprocess.run([program, "finish", *store], check=True, stdout=subprocess.DEVNULL)
    w.say({"system": system, **measured})
