"""The measured systems: each on each of its stores, with the command of its program."""

import sys
from dataclasses import dataclass

import paths

STEPS = 50
MANY = 32
SLOW_MODEL_MS = 20
# The measures of one system on one store.
MEASURES = ("many", "one", "slow-model", "resume")


@dataclass(frozen=True)
class System:
    """A system on a store. Its program prints one line of JSON."""

    name: str
    store: str
    program: tuple[str, ...]
    options: tuple[str, ...] = ()

    def measures(self) -> list[str]:
        skipped = set()
        if self.store not in ("sqlite", "restate"):
            skipped.add("slow-model")
        if self.name in ("bare", "holdover-flow"):
            skipped.update({"slow-model", "resume"})
        if self.name == "loop":
            skipped.update({"many", "one", "resume"})
        return [measure for measure in MEASURES if measure not in skipped]

    def command(self, measure: str, url: str) -> list[str]:
        if measure == "resume":
            return [*self.program, "resume", "--store", url, *self.options]
        sessions = MANY if measure == "many" else 1
        work = ["work", "--store", url, "--sessions", str(sessions), "--steps", str(STEPS)]
        slow = ["--model-ms", str(SLOW_MODEL_MS)] if measure == "slow-model" else []
        return [*self.program, *work, *slow, *self.options]


def _python(program: str) -> tuple[str, ...]:
    return (str(paths.PYTHON), str(paths.PROGRAMS / program))


def _all() -> list[System]:
    holdover = (str(paths.HOLDOVER),)
    langgraph = _python("langgraph_w.py")
    return [
        *(System("holdover", store, holdover) for store in STORES),
        *(System("holdover-flow", store, holdover, ("--flow",)) for store in ("sqlite", "postgres")),
        *(System("bare", store, holdover, ("--bare",)) for store in ("sqlite", "postgres", "redis", "valkey")),
        System("loop", "sqlite", holdover, ("--plain",)),
        System("langgraph", "sqlite", langgraph, ("--saver", "sqlite")),
        System("langgraph", "postgres", langgraph, ("--saver", "postgres")),
        System("langgraph", "valkey", langgraph, ("--saver", "valkey")),
        System("langgraph", "redis-stack", langgraph, ("--saver", "redis")),
        System("langgraph-delta", "sqlite", langgraph, ("--saver", "sqlite", "--channel", "delta")),
        System("langgraph-delta", "postgres", langgraph, ("--saver", "postgres", "--channel", "delta")),
        System("dbos", "sqlite", _python("dbos_w.py")),
        System("dbos", "postgres", _python("dbos_w.py")),
        # This program needs no Python package. It starts a server and a service, and measures them.
        System("restate", "restate", (sys.executable, str(paths.PROGRAMS / "restate_w.py"))),
        System("duroxide", "sqlite", (sys.executable, str(paths.PROGRAMS / "duroxide_w.py"))),
        System("durare", "sqlite", (sys.executable, str(paths.PROGRAMS / "durare_w.py"))),
        System("durare", "postgres", (sys.executable, str(paths.PROGRAMS / "durare_w.py"))),
    ]


STORES = ("sqlite", "postgres", "redis", "valkey", "redis-stack")
SYSTEMS = _all()
NAMES = list(dict.fromkeys(system.name for system in SYSTEMS))
