"""Fresh stores, the settings that their servers report, and the bytes in them. All systems use the same stores."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

import paths
import resp

REWRITTEN_WITHIN_S = 60


class Store(Protocol):
    """Where a run keeps its data."""

    # How `bytes_stored` counts.
    counted: str

    def fresh(self) -> str:
        """Makes an empty store. Returns its address."""

    def bytes_stored(self) -> int:
        """Returns the bytes that the last run left behind, after its process ended."""

    def settings(self) -> dict[str, str]:
        """Returns the version and the durability settings, as the server reports them. Empty if there is no server."""


class Folder:
    """A folder for SQLite's files, or for a server that the system's program starts itself."""

    counted = "sizes of files after the process ended"

    def __init__(self, name: str, scheme: str) -> None:
        self._folder, self._scheme = paths.DATA / name, scheme

    def fresh(self) -> str:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        return f"{self._scheme}:{self._folder / 'w.db'}"

    def bytes_stored(self) -> int:
        return sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file())

    def settings(self) -> dict[str, str]:
        return {}


class Postgres:
    """A database that is dropped and created anew for each run."""

    counted = "sum of pg_total_relation_size over its tables"

    def __init__(self, url: str) -> None:
        self._server, self._url = url, ""

    def fresh(self) -> str:
        name = "peers"
        self._psql(self._server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self._psql(self._server, f"CREATE DATABASE {name}")
        # A run does not pay for writes that an earlier run left to the server.
        self._psql(self._server, "CHECKPOINT")
        self._url = urlunsplit(urlsplit(self._server)._replace(path=f"/{name}"))
        return self._url

    def bytes_stored(self) -> int:
        query = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')"""
        return int(self._psql(self._url, query))

    def settings(self) -> dict[str, str]:
        names = ["server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers"]
        return {name: self._psql(self._server, f"SHOW {name}") for name in names}

    def _psql(self, url: str, query: str) -> str:
        command = [str(_psql()), "--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", url, "-c", query]
        quiet = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=quiet).stdout.strip()


class Redis:
    """A server that is emptied before each run; its log is rewritten, so that no rewrite falls into the run."""

    counted = "used_memory after the process ended"

    def __init__(self, url: str) -> None:
        self._url = url

    def fresh(self) -> str:
        resp.ask(self._url, "FLUSHALL")
        resp.ask(self._url, "BGREWRITEAOF")
        until = time.monotonic() + REWRITTEN_WITHIN_S
        while time.monotonic() < until:
            told = resp.information(self._url, "persistence")
            if told["aof_rewrite_in_progress"] == told["aof_rewrite_scheduled"] == "0":
                return self._url
            time.sleep(0.05)
        raise RuntimeError("redis: the log was not rewritten in time")

    def bytes_stored(self) -> int:
        return int(resp.information(self._url, "memory")["used_memory"])

    def settings(self) -> dict[str, str]:
        told = resp.information(self._url, "server")
        version = told.get("valkey_version") or told["redis_version"]
        names = ["appendonly", "appendfsync", "maxmemory-policy"]
        return {"version": version, **{name: resp.ask(self._url, "CONFIG", "GET", name)[1] for name in names}}


def _psql() -> Path:
    """Returns the path of psql. Debian may keep it only beside the server's other programs."""
    found = shutil.which("psql")
    if found:
        return Path(found)
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"))
    if not versions:
        raise SystemExit("error: psql is missing; install postgresql-client")
    return versions[-1]
