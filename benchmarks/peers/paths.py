"""The paths of programs, data and results. Nothing but the page is written outside of cargo's target folder."""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
PAGE = ROOT / "docs" / "peers.md"

BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
LAUNCHER = BUILT / "debug" / "holdover-launcher"
HOLDOVER = BUILT / "release" / "holdover-benchmarks"

INSTALLED = BUILT / "peers"
VENV = INSTALLED / "venv"
PYTHON = VENV / "bin" / "python"
NODE_MODULES = INSTALLED / "node" / "node_modules"
OPENSSL = INSTALLED / "openssl-1.1"
# The programs of the peers that are Rust crates.
COMPILED = {name: INSTALLED / name / "release" / f"peer-{name}" for name in ("duroxide", "durare")}
DATA = INSTALLED / "data"
RESULTS = INSTALLED / "results.json"
