//! Gaps for the other processes that write the file.
//!
//! SQLite has one lock for whoever writes, and no order among those who wait for it: they try again from time to time. A
//! process that always has something to write would hold it nearly without a gap, and the others would hardly ever come by
//! in one. So whoever waits tries often, and whoever has found others at it leaves them a gap now and then.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::Fault;

/// Whoever waits tries again after so long.
const TRY_EVERY: Duration = Duration::from_micros(500);
/// Long enough that whoever waits comes by in it.
const GAP: Duration = Duration::from_millis(2);
/// So long a process writes without a gap, while others do.
const GAP_EVERY: Duration = Duration::from_millis(20);
/// For so long others are expected to write again.
const OTHERS_STAY: Duration = Duration::from_secs(1);

/// A process among others that write.
#[derive(Default)]
pub(crate) struct Gaps {
    /// When it last had to wait for another.
    waited: Option<Instant>,
    /// When it last left a gap.
    left_gap: Option<Instant>,
    /// When its last transaction ended.
    ended: Option<Instant>,
}

impl Gaps {
    /// Begins by `begin`, which fails while another writes: then again, for at most so long.
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

    /// The transaction is over, whichever way.
    pub(crate) fn end(&mut self) {
        self.ended = Some(Instant::now());
    }

    fn leave_gap(&mut self) {
        let within = |instant: Option<Instant>, time| instant.is_some_and(|instant| instant.elapsed() < time);
        if within(self.waited, OTHERS_STAY) && !within(self.left_gap, GAP_EVERY) {
            // Whoever had nothing to write has left one.
            let left = self.ended.map_or(Duration::ZERO, |ended| ended.elapsed());
            std::thread::sleep(GAP.saturating_sub(left));
            self.left_gap = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    /// So often the one writes that writes now and then.
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

    /// A transaction that lasts as long as a sync does.
    fn write(conn: &Connection) {
        conn.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        std::thread::sleep(Duration::from_micros(300));
        conn.execute_batch("COMMIT").unwrap();
    }

    /// How many transactions of one that always writes come between asking and beginning, for another. None: it was not
    /// let in. With SQLite's own way of waiting most are not.
    fn waited(take: impl Fn(&mut Gaps, &Connection) -> Result<(), Fault> + Sync) -> Vec<Option<u64>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        let (busy, rare) = (connect(&file), connect(&file));
        let (written, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (busy, mut gaps) = (busy, Gaps::default());
                while !stop.load(Ordering::SeqCst) {
                    take(&mut gaps, &busy).unwrap();
                    write(&busy);
                    gaps.end();
                    written.fetch_add(1, Ordering::SeqCst);
                }
            });
            let mut gaps = Gaps::default();
            let mut waited = Vec::new();
            for _ in 0..WRITES {
                let before = written.load(Ordering::SeqCst);
                while written.load(Ordering::SeqCst) == before {
                    std::thread::yield_now();
                }
                let before = written.load(Ordering::SeqCst);
                match take(&mut gaps, &rare) {
                    Ok(()) => {
                        waited.push(Some(written.load(Ordering::SeqCst) - before));
                        write(&rare);
                    }
                    Err(fault) if fault.is_busy() => waited.push(None),
                    Err(fault) => panic!("{fault:?}"),
                }
            }
            stop.store(true, Ordering::SeqCst);
            waited.sort_unstable();
            waited
        })
    }

    #[test]
    fn who_writes_now_and_then_is_let_in_beside_who_always_writes() {
        let at_most = Duration::from_secs(5);
        let waited = waited(|gaps, conn| gaps.take(conn, at_most, || begin(conn)));
        assert!(waited.iter().all(|waited| waited.is_some_and(|waited| waited < 500)), "{waited:?}");
    }
}
