//! Random histories of several peers, checked for linearizability session by session.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cases::prelude::*;
use crate::linear::{Asked, Counterexample, Event, Heard, OPERATIONS_MAX, Verdict, project, search};
use crate::model::Model;
use crate::random::drawn;
use crate::script::{Improviser, LEASE, Who};

/// The number of concurrent peers.
const PEERS: usize = 4;
/// The number of operations that each peer makes in a round. After a round, all peers wait for each other. If the clock
/// is virtual, time passes then.
const OPERATIONS: usize = 5;
/// The number of rounds.
const ROUNDS: usize = 4;
/// The upper bound, exclusive, of the random number of times that a peer yields before a request.
const OFFSET_MAX: u64 = 4;

/// The minimum numbers of writes and reads in a history whose answers can be judged, of eighty operations in all. About
/// half of the operations write. If a store refuses so many for now that fewer are left, the history proves too little.
const WRITES_MIN: usize = 12;
const READS_MIN: usize = 12;

const _: () = assert!(PEERS * OPERATIONS * ROUNDS + ROUNDS <= OPERATIONS_MAX);

/// Plays as many histories as the settings say, each in a store of its own.
pub(super) async fn check_histories(t: &Bench) -> CaseResult {
    let mut undecided = 0;
    for nth in 0..u64::from(t.settings().scripts.get()) {
        let bench = t.another().await;
        let seed = drawn(t.seed(), nth);
        undecided += History::begin(&bench, seed).await?.play(&bench).await.map_err(|failure| {
            t.forget_history();
            failure.within(format!("history {nth}"))
        })?;
    }
    match undecided {
        0 => Ok(()),
        _ => Err(Failure::not_run(&format!(
            "{undecided} histories of a session are undecided: no order was found in as many states as are looked at"
        ))),
    }
}

/// A random history: the peers, their requests and answers so far, and the state at its start.
struct History {
    peers: Vec<Handle>,
    shared: Arc<Shared>,
    start: Model,
    seed: u64,
}

struct Shared {
    /// A counter of calls and answers. An answer with a lower number came before a call with a higher one.
    instants: AtomicU64,
    improviser: Mutex<Improviser>,
    asked: Mutex<Vec<Asked>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn instant(&self) -> u64 {
        self.instants.fetch_add(1, Ordering::SeqCst)
    }

    /// Sends one random request.
    async fn ask(&self, by: usize, peer: &Handle) -> CaseResult {
        let Some(request) = lock(&self.improviser).next() else { return Ok(()) };
        let asked = self.instant();
        let answer = Asked::ask(&request, peer).await?;
        let answered = self.instant();
        lock(&self.asked).push(Asked { by, asked, answered, request, answer });
        Ok(())
    }
}

impl History {
    async fn begin(t: &Bench, seed: u64) -> CaseResult<Self> {
        let now = t.now().await?;
        let shared = Shared {
            instants: AtomicU64::new(1),
            improviser: Mutex::new(Improviser::new(t.powers(), now, seed)),
            asked: Mutex::default(),
        };
        let (peers, start) = (t.peers(PEERS).await, Model::new(now));
        Ok(Self { peers, shared: Arc::new(shared), start, seed })
    }

    /// Plays all rounds. Returns how many sessions are undecided. Fails if the history of a session fits no order.
    async fn play(self, t: &Bench) -> CaseResult<usize> {
        let mut moved = Vec::new();
        let mut undecided = 0;
        let mut judged = Judged::default();
        for round in 0..ROUNDS {
            if round > 0 && t.moves_time() {
                moved.push(self.pass(t, round).await?);
            }
            self.round(round).await?;
            undecided = 0;
            for who in Who::ALL {
                let events = self.events(who, &moved);
                judged.add(&events);
                undecided += usize::from(!self.fits(t, who, &events)?);
            }
        }
        judged.are_enough(&lock(&self.shared.asked))?;
        Ok(undecided)
    }

    /// Lets every peer make its operations.
    async fn round(&self, round: usize) -> CaseResult {
        let (shared, seed) = (&self.shared, self.seed);
        race(self.peers.clone(), |by, peer| {
            let shared = Arc::clone(shared);
            Box::pin(async move {
                for nth in 0..OPERATIONS {
                    let place = (round * PEERS + by) * OPERATIONS + nth;
                    for _ in 0..drawn(seed, place as u64) % OFFSET_MAX {
                        tokio::task::yield_now().await;
                    }
                    shared.ask(by, &peer).await?;
                }
                Ok(())
            })
        })
        .await
        .map(drop)
    }

    /// Lets time pass between rounds: a quarter of a lease or a whole one.
    async fn pass(&self, t: &Bench, round: usize) -> CaseResult<Event> {
        t.advance(if round.is_multiple_of(2) { LEASE } else { LEASE / 4 }).await;
        let now = t.now().await?;
        lock(&self.shared.improviser).passed(now);
        let (asked, answered) = (self.shared.instant(), self.shared.instant());
        Ok(Event { by: 0, asked, answered: Some(answered), heard: Heard::Time(now) })
    }

    /// Returns the events of a session, in the order in which the operations began.
    fn events(&self, who: Who, moved: &[Event]) -> Vec<Event> {
        let mut events = project(&lock(&self.shared.asked), &who.key());
        events.extend(moved.iter().cloned());
        events.sort_by_key(|event| event.asked);
        events
    }

    /// Returns true if an order explains the events of a session, and false if the search is undecided. Fails if no
    /// order explains them. If one does, the next requests are drawn from a state that the session may have now.
    fn fits(&self, t: &Bench, who: Who, events: &[Event]) -> CaseResult<bool> {
        match search(events, &self.start, t.moves_time()) {
            Verdict::Fits(state) => {
                lock(&self.shared.improviser).learn(who, &state);
                Ok(true)
            }
            Verdict::Undecided => Ok(false),
            Verdict::FitsNot => {
                let shown = Counterexample::of(events, &self.start, t.moves_time());
                let shown = shown.map_or_else(String::new, |shown| shown.to_string());
                Err(Failure::new(format!(
                    "expected answers that one operation after the other would have got, of {}\n    found    none in any order\n{shown}",
                    who.key()
                )))
            }
        }
    }
}

/// The operations whose answers could be judged, by the instant of the call.
#[derive(Default)]
struct Judged {
    writes: BTreeSet<u64>,
    reads: BTreeSet<u64>,
}

impl Judged {
    fn add(&mut self, events: &[Event]) {
        for event in events {
            if let Heard::Answer(request, _) = &event.heard {
                let of_its_kind = if request.writes() { &mut self.writes } else { &mut self.reads };
                of_its_kind.insert(event.asked);
            }
        }
    }

    /// Fails if too little of a history was judged.
    fn are_enough(&self, asked: &[Asked]) -> CaseResult {
        let (writes, reads) = (self.writes.len(), self.reads.len());
        let of = |writes| asked.iter().filter(|asked| asked.request.writes() == writes).count();
        ensure!(
            writes >= WRITES_MIN && reads >= READS_MIN,
            "expected answers that say something to {WRITES_MIN} writes and {READS_MIN} reads at least",
            found = "{writes} of {} writes, {reads} of {} reads",
            of(true),
            of(false)
        );
        Ok(())
    }
}
