"""Medians, spreads and ratios of rounds."""

import statistics
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Summary:
    """Several rounds of one number."""

    median: float
    least: float
    most: float


def summary(numbers: list[float]) -> Summary | None:
    """None for no numbers at all."""
    if not numbers:
        return None
    return Summary(statistics.median(numbers), min(numbers), max(numbers))


def ratio(upper: dict[int, float], lower: dict[int, float]) -> Summary | None:
    """The quotients of the rounds that have both, by round."""
    both = sorted(upper.keys() & lower.keys())
    return summary([upper[round_] / lower[round_] for round_ in both])


def rotated(jobs: list[T], round_: int, rounds: int) -> list[T]:
    """The same jobs, begun at another one each round, so that none always follows the same state of the machine."""
    if not jobs:
        return []
    start = round_ * len(jobs) // max(rounds, 1) % len(jobs)
    return jobs[start:] + jobs[:start]
