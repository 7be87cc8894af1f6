"""Work W on Restate: starts a server with its own folder, and the service of restate_service.mjs."""

import json
import os
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import resume
import w

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import paths  # noqa: E402
from servers import free_port  # noqa: E402

SYSTEM = "restate"
SERVICE = Path(__file__).resolve().parent / "restate_service.mjs"
UP_WITHIN_S = 60
ANSWERED_WITHIN_S = 600
# On two cores, four partitions were faster than the default of 24; one or two were not.
PARTITIONS = 4


class Server:
    """A Restate server."""

    def __init__(self, folder: Path) -> None:
        self.ingress, self.admin = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._program = next((paths.NODE_MODULES / "@restatedev").glob("restate-server-linux-*/bin/restate-server"))
        self._environment = {
            **os.environ,
            "RESTATE_BASE_DIR": str(folder),
            "RESTATE_LISTEN_MODE": "tcp",
            "RESTATE_BIND_ADDRESS": f"127.0.0.1:{free_port()}",
            "RESTATE_INGRESS__BIND_ADDRESS": self.ingress.removeprefix("http://"),
            "RESTATE_ADMIN__BIND_ADDRESS": self.admin.removeprefix("http://"),
            "RESTATE_DEFAULT_NUM_PARTITIONS": str(PARTITIONS),
            "RESTATE_DISABLE_TELEMETRY": "true",
            "RESTATE_LOG_FILTER": "error",
        }
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            [str(self._program), "--no-logo"], env=self._environment, cwd=folder, stdin=quiet, stdout=quiet, stderr=quiet
        )

    def version(self) -> str:
        told = subprocess.run([str(self._program), "--version"], check=True, capture_output=True, text=True)
        return told.stdout.split()[-1]

    def settings(self) -> dict[str, Any]:
        """Returns settings as the server reads them from its environment."""
        dumped = subprocess.run(
            [str(self._program), "--dump-config"], env=self._environment, check=True, capture_output=True, text=True
        )
        config = tomllib.loads(dumped.stdout)
        return {
            "default-num-partitions": config["default-num-partitions"],
            "bifrost.default-provider": config["bifrost"]["default-provider"],
            "log-server.rocksdb-disable-wal-fsync": config["log-server"]["rocksdb-disable-wal-fsync"],
        }

    def register(self, service: str) -> None:
        """Registers the service. Tries again until the server and the service are up."""
        until = time.monotonic() + UP_WITHIN_S
        while True:
            try:
                post(f"{self.admin}/deployments", {"uri": service})
                return
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def call(self, session: str) -> int:
        """Runs a session. Tries again while the server does not know the service yet."""
        until = time.monotonic() + UP_WITHIN_S
        while True:
            try:
                return int(post(f"{self.ingress}/agent/{session}/run", None))
            except urllib.error.HTTPError as error:
                if error.code not in (404, 503) or time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def send(self, session: str) -> None:
        post(f"{self.ingress}/agent/{session}/run/send", None)


def post(url: str, body: Any) -> str:
    data = b"" if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=ANSWERED_WITHIN_S) as answer:
        return answer.read().decode()


def service(port: int, work: w.Work, mode: str) -> list[str]:
    return ["env", f"NODE_PATH={paths.NODE_MODULES}", "node", str(SERVICE), str(port), mode, str(work.steps), str(work.model_ms)]


def cpu_seconds(*processes: int) -> float:
    fields = [Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].split() for process in processes]
    return sum(int(field[11]) + int(field[12]) for field in fields) / os.sysconf("SC_CLK_TCK")


def run(work: w.Work, server: Server) -> dict[str, Any]:
    port = free_port()
    serving = subprocess.Popen(service(port, work, "work"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        server.register(f"http://127.0.0.1:{port}")
        assert server.call(w.WARM) == 2 * w.WARM_STEPS
        sessions = [f"session-{number}" for number in range(work.sessions)]
        ended: list[int] = []
        threads = [threading.Thread(target=lambda name=name: ended.append(server.call(name))) for name in sessions]
        watch, cpu = w.Watch(), cpu_seconds(server.process.pid, serving.pid)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds, cpu = watch.seconds(), cpu_seconds(server.process.pid, serving.pid) - cpu
        assert ended == [2 * work.steps] * work.sessions
    finally:
        serving.kill()
        serving.wait()
    return w.measured(work, seconds, cpu)


def resumed(work: w.Work, server: Server) -> dict[str, Any]:
    """Kills the service and starts it again. The server keeps running, and calls the service again at its own intervals."""
    port = free_port()

    def start() -> None:
        server.register(f"http://127.0.0.1:{port}")
        server.send("session-0")

    thread = threading.Thread(target=start)
    thread.start()
    measured = resume.measure(service(port, work, "doomed"), service(port, work, "successor"))
    thread.join()
    return measured


def main() -> None:
    work, _ = w.arguments()
    folder = Path(work.store.removeprefix("folder:")).parent
    server = Server(folder)
    try:
        named = {"system": SYSTEM, "version": server.version(), "settings": server.settings()}
        w.say({**named, **(resumed(work, server) if work.mode == "resume" else run(work, server))})
    finally:
        server.process.terminate()
        try:
            server.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.process.kill()


if __name__ == "__main__":
    main()
