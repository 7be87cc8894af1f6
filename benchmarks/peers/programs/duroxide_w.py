"""Work W on duroxide: its program does the work; this one only kills it for the resume."""

import os
import subprocess
import sys
from pathlib import Path

import resume
import w

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import paths  # noqa: E402


def main() -> None:
    work, _ = w.arguments()
    # The program would write a line each time that it finds the database locked.
    os.environ["RUST_LOG"] = "off"
    program = str(paths.DUROXIDE)
    if work.mode == "resume":
        store = ["--store", work.store]
        w.say({"system": "duroxide", **resume.measure([program, "doomed", *store], [program, "successor", *store])})
    else:
        raise SystemExit(subprocess.run([program, *sys.argv[1:]], check=False).returncode)


if __name__ == "__main__":
    main()
