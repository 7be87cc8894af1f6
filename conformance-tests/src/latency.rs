//! Measures the durations of operations.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The maximum number of samples that are kept per operation.
const SAMPLES_MAX: usize = 100_000;

/// The operation that is not measured, because the caller says how long it may take.
const WAITS: &str = "wait_for_change";

/// The durations of operations that returned an answer or an error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies {
    samples: BTreeMap<&'static str, Vec<Duration>>,
}

/// The durations of one operation, measured while several cases run at a time, most of them on an almost empty store.
/// Use it to compare runs, not as a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperationReport {
    /// The method of `StateStore`.
    pub operation: String,
    /// The number of samples: one for each call, up to 100,000.
    pub calls: usize,
    /// The median, in microseconds.
    pub p50_us: u64,
    /// The 99th percentile, in microseconds.
    pub p99_us: u64,
}

impl Latencies {
    pub(crate) fn add(&mut self, operation: &'static str, took: Duration) {
        if operation != WAITS {
            let samples = self.samples.entry(operation).or_default();
            if samples.len() < SAMPLES_MAX {
                samples.push(took);
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (operation, samples) in other.samples {
            for took in samples {
                self.add(operation, took);
            }
        }
    }

    pub(crate) fn reports(mut self) -> Vec<OperationReport> {
        let reports = self.samples.iter_mut().map(|(operation, samples)| {
            samples.sort_unstable();
            OperationReport {
                operation: (*operation).to_owned(),
                calls: samples.len(),
                p50_us: percentile(samples, 50),
                p99_us: percentile(samples, 99),
            }
        });
        reports.collect()
    }
}

/// Returns the smallest sample that at least `percent` percent of all samples do not exceed, in microseconds. `samples`
/// must be sorted.
fn percentile(samples: &[Duration], percent: usize) -> u64 {
    let rank = (samples.len() * percent).div_ceil(100);
    let sample = samples.get(rank.saturating_sub(1)).copied().unwrap_or_default();
    u64::try_from(sample.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_sample_that_so_many_do_not_exceed() {
        let ms: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!((percentile(&ms, 50), percentile(&ms, 99)), (100_000, 198_000));
        assert_eq!(percentile(&ms[..1], 99), 1_000);
        assert_eq!(percentile(&[], 50), 0);
    }

    #[test]
    fn waits_are_not_counted() {
        let mut latencies = Latencies::default();
        latencies.add("deliver", Duration::from_micros(7));
        latencies.add(WAITS, Duration::from_secs(1));
        let reports = latencies.reports();
        let expected = OperationReport { operation: "deliver".into(), calls: 1, p50_us: 7, p99_us: 7 };
        assert_eq!(reports, [expected]);
    }
}
