import unittest

import stats
from stats import Summary


class Stats(unittest.TestCase):
    def test_summary_is_median_and_extremes(self) -> None:
        self.assertEqual(stats.summary([3.0, 1.0, 10.0]), Summary(3.0, 1.0, 10.0))
        self.assertIsNone(stats.summary([]))

    def test_ratio_is_taken_within_a_round(self) -> None:
        # The medians alone would give 1.
        upper, lower = {0: 10.0, 1: 20.0, 2: 30.0}, {0: 5.0, 1: 20.0, 3: 30.0}
        self.assertEqual(stats.ratio(upper, lower), Summary(1.5, 1.0, 2.0))
        self.assertIsNone(stats.ratio({0: 1.0}, {1: 1.0}))

    def test_each_round_begins_at_another_job_and_has_all(self) -> None:
        orders = [stats.rotated([1, 2, 3, 4], round_, 4) for round_ in range(4)]
        self.assertEqual([order[0] for order in orders], [1, 2, 3, 4])
        self.assertTrue(all(sorted(order) == [1, 2, 3, 4] for order in orders))
        self.assertEqual(stats.rotated([], 0, 5), [])


if __name__ == "__main__":
    unittest.main()
