"""Installs the peers at the versions of pins.json into the build folder, once."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paths

PINS: dict[str, Any] = json.loads((paths.HERE / "pins.json").read_text())
CONSTRAINTS = paths.HERE / "constraints.txt"


def python() -> None:
    """Installs the Python peers, and the servers that come in wheels, into a virtual environment."""
    wanted = json.dumps([PINS["python"], PINS["openssl-1.1"], CONSTRAINTS.read_text()])
    _once("python", wanted, _python)


def npm() -> None:
    """Installs Restate. Scripts of packages are not run: none is needed, and one reports the installation."""
    packages = [f"{name}@{version}" for name, version in PINS["npm"].items()]
    folder = paths.NODE_MODULES.parent

    def install() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        quiet = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        _run("npm", "install", *quiet, "--prefix", str(folder), *packages)

    _once("npm", json.dumps(packages), install)


def crate(name: str) -> None:
    """Builds the program for a peer that is a crate, as one job so that it leaves processors to other programs."""
    package = paths.HERE / name
    manifest = (package / "Cargo.toml").read_text()
    version = PINS["crates"][name]
    if f'"={version}"' not in manifest:
        raise SystemExit(f"error: {name}/Cargo.toml does not ask for {version}, which pins.json does")
    target = paths.COMPILED[name].parent.parent
    where = ["--manifest-path", str(package / "Cargo.toml"), "--target-dir", str(target)]
    _run("cargo", "build", "--quiet", "--release", "--locked", "-j1", *where)


def _python() -> None:
    if not paths.PYTHON.exists():
        _run(sys.executable, "-m", "venv", str(paths.VENV))
    pip = [str(paths.PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run(*pip, "install", "--constraint", str(CONSTRAINTS), *PINS["python"])
    _openssl(pip)


def _openssl(pip: list[str]) -> None:
    """Unpacks OpenSSL 1.1 from a wheel: Redis Stack needs it, and current systems lack it. No connection uses TLS."""
    folder = paths.OPENSSL
    folder.mkdir(parents=True, exist_ok=True)
    _run(*pip, "download", "--no-deps", "--dest", str(folder), PINS["openssl-1.1"])
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    for name in ("libssl", "libcrypto"):
        found = next(folder.glob(f"*.libs/{name}-*.so.1.1"))
        link = folder / f"{name}.so.1.1"
        link.unlink(missing_ok=True)
        link.symlink_to(found)
        # libssl looks for libcrypto under its long name.
        long_name = folder / found.name
        long_name.unlink(missing_ok=True)
        long_name.symlink_to(found)


def _once(name: str, wanted: str, install: Callable[[], None]) -> None:
    """Runs `install` unless the same was installed before."""
    stamp: Path = paths.INSTALLED / f"{name}.installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing: {name}", file=sys.stderr, flush=True)
    install()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(wanted)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
