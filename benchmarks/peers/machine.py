"""Describes the machine that measures, in a few words."""

import os
import platform
import subprocess
from pathlib import Path


def describe(folder: Path) -> dict[str, str]:
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{_memory_gib():.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}, {_file_system(folder)}",
        "Python": platform.python_version(),
        "load when it began": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory_gib() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def _file_system(folder: Path) -> str:
    told = subprocess.run(["stat", "-f", "-c", "%T", str(folder)], check=False, capture_output=True, text=True)
    return told.stdout.strip() or "unknown file system"
