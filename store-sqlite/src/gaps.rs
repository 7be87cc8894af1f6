//! Gaps between transactions, in which other processes can write the file.
//!
//! SQLite has one lock for writers and no queue for it: a waiting process tries again from time to time. A process
//! that always has something to write would hold the lock with almost no gap, and other processes would hardly ever
//! get it. Therefore a waiting process tries often, and a process that writes all the time leaves a gap now and then:
//! once a second, and more often while it meets other writers.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::Fault;

/// The interval at which a waiting process tries again.
const TRY_EVERY: Duration = Duration::from_micros(500);
/// The length of a gap: long enough for a waiting process to try again within it.
const GAP: Duration = Duration::from_millis(2);
/// The time from one gap to the next while other processes write too.
const AMONG_OTHERS: Duration = Duration::from_millis(20);
/// The time from one gap to the next while no other process is met. Gaps then take two thousandths of the time.
const ALONE: Duration = Duration::from_secs(1);
/// The time for which other processes are expected to write again after this process waited for one.
const OTHERS_STAY: Duration = Duration::from_secs(1);

/// The gaps that this process leaves for other writers.
#[derive(Default)]
pub(crate) struct Gaps {
    /// The last instant at which this process had to wait for another.
    waited: Option<Instant>,
    /// The end of the last gap. A gap is one that this process left, or a time in which it had nothing to write.
    gap_ended: Option<Instant>,
    /// The end of this process's last transaction.
    ended: Option<Instant>,
}

impl Gaps {
    /// Begins a transaction with `begin`, which fails while another process writes. Tries again for at most
    /// `at_most`.
    pub(crate) fn take(
        &mut self,
        conn: &Connection,
        at_most: Duration,
        begin: impl Fn() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.leave_gap();
        conn.busy_timeout(Duration::ZERO)?;
        let began = Instant::now();
        let begun = loop {
            match begin() {
                Err(fault) if fault.is_busy() => {
                    self.waited = Some(Instant::now());
                    if began.elapsed() >= at_most {
                        break Err(fault);
                    }
                    std::thread::sleep(TRY_EVERY);
                }
                begun => break begun,
            }
        };
        conn.busy_timeout(at_most)?;
        begun
    }

    /// Notes that the transaction is over, committed or not.
    pub(crate) fn end(&mut self) {
        self.ended = Some(Instant::now());
    }

    fn leave_gap(&mut self) {
        let now = Instant::now();
        std::thread::sleep(self.owed(now));
        if self.idle(now) >= GAP || self.is_due(now) {
            self.gap_ended = Some(Instant::now());
        }
    }

    /// Returns the rest of the gap that must pass before a transaction that would begin at `now`; zero if no gap is
    /// due.
    fn owed(&self, now: Instant) -> Duration {
        match self.is_due(now) {
            true => GAP.saturating_sub(self.idle(now)),
            false => Duration::ZERO,
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        let since = |instant: Instant| now.saturating_duration_since(instant);
        let has_met_others = self.waited.is_some_and(|waited| since(waited) < OTHERS_STAY);
        let every = if has_met_others { AMONG_OTHERS } else { ALONE };
        self.gap_ended.is_none_or(|ended| since(ended) >= every)
    }

    /// Returns the time since this process last wrote.
    fn idle(&self, now: Instant) -> Duration {
        self.ended.map_or(Duration::MAX, |ended| now.saturating_duration_since(ended))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    /// The number of writes of the connection that writes rarely.
    const WRITES: usize = 20;

    fn connect(file: &Path) -> Connection {
        let conn = Connection::open(file).unwrap();
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE IF NOT EXISTS t (n)",
        )
        .unwrap();
        conn
    }

    fn begin(conn: &Connection) -> Result<(), Fault> {
        Ok(conn.execute_batch("BEGIN IMMEDIATE")?)
    }

    /// Writes a row in the open transaction, and commits it. A sleep stands for the sync to disk, which is switched off
    /// here.
    fn write(conn: &Connection) {
        conn.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        std::thread::sleep(Duration::from_micros(300));
        conn.execute_batch("COMMIT").unwrap();
    }

    /// Lets one connection write rarely beside one that always writes. Returns, for each rare write, whether it got
    /// the lock. With SQLite's own way of waiting, it mostly would not.
    fn let_in(at_most: Duration) -> Vec<bool> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        let (busy, rare) = (connect(&file), connect(&file));
        let (written, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (busy, mut gaps) = (busy, Gaps::default());
                while !stop.load(Ordering::SeqCst) {
                    gaps.take(&busy, at_most, || begin(&busy)).unwrap();
                    write(&busy);
                    gaps.end();
                    written.fetch_add(1, Ordering::SeqCst);
                }
            });
            let mut gaps = Gaps::default();
            let mut let_in = Vec::new();
            for _ in 0..WRITES {
                let before = written.load(Ordering::SeqCst);
                while written.load(Ordering::SeqCst) == before {
                    std::thread::yield_now();
                }
                let_in.push(match gaps.take(&rare, at_most, || begin(&rare)) {
                    Ok(()) => {
                        write(&rare);
                        true
                    }
                    Err(fault) if fault.is_busy() => false,
                    Err(fault) => panic!("{fault:?}"),
                });
                gaps.end();
            }
            stop.store(true, Ordering::SeqCst);
            let_in
        })
    }

    #[test]
    fn who_writes_now_and_then_is_let_in_beside_who_always_writes() {
        assert_eq!(let_in(Duration::from_secs(5)), [true; WRITES]);
    }

    /// Returns the gaps that a process leaves if it writes without a pause for `during`, each transaction taking
    /// no time.
    fn gaps_left(mut gaps: Gaps, began: Instant, during: Duration) -> Vec<Duration> {
        const STEP: Duration = Duration::from_micros(100);
        let (mut now, mut left) = (began, Vec::new());
        while now < began + during {
            let owed = gaps.owed(now);
            if owed > Duration::ZERO {
                now += owed;
                gaps.gap_ended = Some(now);
                left.push(owed);
            }
            now += STEP;
            gaps.ended = Some(now);
        }
        left
    }

    #[test]
    fn who_has_met_others_leaves_a_gap_often_and_who_has_not_every_second() {
        let now = Instant::now();
        let met = Gaps { waited: Some(now), gap_ended: Some(now), ended: Some(now) };
        // A gap takes 2 of each 22 ms. After a second, the others are assumed to be gone.
        assert_eq!(gaps_left(met, now, Duration::from_millis(980)), [GAP; 44]);
        let alone = Gaps { waited: None, gap_ended: Some(now), ended: Some(now) };
        assert_eq!(gaps_left(alone, now, Duration::from_millis(3_500)), [GAP; 3]);
    }

    #[test]
    fn a_time_without_a_write_is_a_gap() {
        let at = Instant::now();
        let now = at + AMONG_OTHERS;
        let gaps = |ended| Gaps { waited: Some(now), gap_ended: Some(at), ended: Some(ended) };
        assert_eq!(gaps(now).owed(now), GAP);
        assert_eq!(gaps(now - GAP / 2).owed(now), GAP / 2);
        assert_eq!(gaps(now - GAP).owed(now), Duration::ZERO);
        assert_eq!(Gaps::default().owed(now), Duration::ZERO, "who has just come delays nobody");
    }
}
