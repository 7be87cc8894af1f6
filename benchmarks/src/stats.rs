//! Medians, and the spread of values around them.

use std::fmt;
use std::time::Duration;

/// Returns the processor time of this process, all threads together.
pub(crate) fn cpu() -> Duration {
    let worked = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(worked).unwrap_or_default()
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Values of one kind, measured several times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn extend(&mut self, others: &Self) {
        self.0.extend(&others.0);
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// Returns the value at this share of the sorted values, or NaN if there are none.
    fn at(&self, share: f64) -> f64 {
        let mut values = self.0.clone();
        values.sort_by(f64::total_cmp);
        let last = values.len().saturating_sub(1);
        #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "a place in the list")]
        let place = (share * last as f64).round() as usize;
        values.get(place).copied().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Samples {
    /// Shows the median, and the tenth and ninetieth percentile.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.median() < 100.0 { 2 } else { 0 };
        write!(f, "{:.*} ({:.*}–{:.*})", digits, self.median(), digits, self.at(0.1), digits, self.at(0.9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_spread_are_shown() {
        let mut samples = Samples::default();
        (1..=11).rev().for_each(|value| samples.add(f64::from(value)));
        assert_eq!(samples.to_string(), "6.00 (2.00–10.00)");
        assert!(Samples::default().median().is_nan());
    }
}
