"""Medians, spreads and ratios of rounds."""

import statistics
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Summary:
    """The median and the extremes of one number over several rounds."""

    median: float
    least: float
    most: float


def summary(numbers: list[float]) -> Summary | None:
    """Returns None if there are no numbers."""
    if not numbers:
        return None
    return Summary(statistics.median(numbers), min(numbers), max(numbers))


def ratio(upper: dict[int, float], lower: dict[int, float]) -> Summary | None:
    """Summarizes the quotients `upper / lower` of the rounds that have both."""
    both = sorted(upper.keys() & lower.keys())
    return summary([upper[round_] / lower[round_] for round_ in both])


def rotated(jobs: list[T], round_: int, rounds: int) -> list[T]:
    """The same jobs, beginning at another one each round, so that no job always runs at the same point of a round."""
    if not jobs:
        return []
    start = round_ * len(jobs) // max(rounds, 1) % len(jobs)
    return jobs[start:] + jobs[:start]
