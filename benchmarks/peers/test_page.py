import unittest
from typing import Any

import page

FACTS: dict[str, Any] = {
    "command": "benchmarks/peers/run --rounds 2",
    "date": "2000-01-01",
    "rounds": 2,
    "machine": {"processor": "a processor"},
    "servers": {"postgres": {"fsync": "on"}},
    "counted": {"sqlite": "sizes of files"},
    "missing": ["duroxide was left out of this run."],
}


def result(round_: int, system: str, measure: str, bytes_: int = 0, **line: Any) -> dict[str, Any]:
    return {"round": round_, "system": system, "store": "sqlite", "measure": measure, "line": line, "bytes": bytes_}


class Page(unittest.TestCase):
    def test_ratios_are_medians_of_rounds(self) -> None:
        results = [
            result(0, "holdover", "many", steps_per_s=1000.0),
            result(0, "dbos", "many", steps_per_s=100.0),
            result(1, "holdover", "many", steps_per_s=3000.0),
            result(1, "dbos", "many", steps_per_s=100.0),
            result(1, "holdover-flow", "many", steps_per_s=2500.0),
        ]
        text = page.render(results, FACTS)
        self.assertIn("| SQLite | Holdover | 2,000 (1,000–3,000) |  |  |  |", text)
        self.assertIn("| SQLite | DBOS | 100 (100–100) |  | × 20.00 (10.00–30.00) | × 25.00 (25.00–25.00) |", text)

    def test_a_slow_model_is_set_against_a_loop_that_keeps_nothing(self) -> None:
        results = [
            result(0, "loop", "slow-model", ms_per_step=21.0),
            result(0, "holdover", "slow-model", ms_per_step=23.1),
            result(1, "holdover", "slow-model", ms_per_step=30.0),
        ]
        text = page.render(results, FACTS)
        self.assertIn("| SQLite | Holdover | 26.55 (23.10–30.00) | 6.55 (3.10–10.00) | 1.10 (1.10–1.10) |", text)
        self.assertIn("| SQLite | a loop that keeps nothing | 21.00 (21.00–21.00) | 1.00 (1.00–1.00) | 1.00 (1.00–1.00) |", text)

    def test_bytes_are_those_of_further_sessions(self) -> None:
        results = [
            result(0, "dbos", "many", bytes_=10_000 + 32 * 5_000, steps_per_s=1.0),
            result(0, "dbos", "one", bytes_=10_000 + 5_000, ms_per_step=1.0),
        ]
        self.assertIn("| SQLite | DBOS | 5.0 (5.0–5.0) |", page.render(results, FACTS))

    def test_what_failed_is_said_and_has_no_number(self) -> None:
        failed = {"round": 0, "system": "restate", "store": "restate", "measure": "many", "error": "ended with 1: no"}
        text = page.render([failed], FACTS)
        self.assertIn("- Failed: Restate on its own server, many: ended with 1: no.", text)
        self.assertIn("- duroxide was left out of this run.", text)
        self.assertNotIn("sessions at once", text)

    def test_settings_and_command_are_shown(self) -> None:
        text = page.render([result(0, "dbos", "many", version="1", settings={"synchronous": 2})], FACTS)
        self.assertIn("| Postgres | server | | fsync=on |", text)
        self.assertIn("| SQLite | DBOS | 1 | synchronous=2 |", text)
        self.assertIn("`benchmarks/peers/run --rounds 2`", text)


if __name__ == "__main__":
    unittest.main()
