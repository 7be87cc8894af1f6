//! Checks that the measurements on the published benchmark page keep the engine's promises. Nothing is timed here.
//!
//! Requirements: U01.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

const PAGE: &str = include_str!("../../docs/benchmarks.md");

/// The maximum time of step 10,000, as a multiple of the time of step 10. Both are medians.
const STEP_MAX: f64 = 1.1;
/// The maximum size of the file, as a multiple of the size of the transcripts.
const STORED_MAX: f64 = 1.6;

/// Returns the median that follows `before` in the line that contains `line`.
fn median(line: &str, before: &str) -> f64 {
    let found = PAGE.lines().find(|text| text.contains(line)).expect(line);
    let (_, value) = found.split_once(before).expect(before);
    value.split_whitespace().next().unwrap().parse().expect("a number")
}

#[test]
fn u01_a_late_step_was_measured_to_last_little_longer_than_an_early_one() {
    let late = "- Step 10000 over step 10, a value for each repetition";
    for (what, before) in
        [("ratios", "repetition: "), ("times", "by the ratios, "), ("processor's times", "by the times, ")]
    {
        let ratio = median(late, before);
        assert!(ratio <= STEP_MAX, "by the {what}: {ratio}");
    }
    let stored = median("- The file holds", "The file holds ");
    assert!(stored <= STORED_MAX, "{stored}");
}
