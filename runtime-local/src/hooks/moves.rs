//! Tells hooks of transitions, in order. The run does not wait for this.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holdover_core::hook::{HookPoint, Moved, MovesMissed};
use holdover_core::ids::SessionKey;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::timeout;

use super::Hooks;
use crate::guard::{Guarded, guarded};

/// The maximum number of transitions that wait for slow hooks. Of further transitions, hooks get only the number.
const WAITING_MAX: usize = 1024;

/// The time that a finished run waits for hooks that have not been told of all transitions.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A task that tells the hooks of a run's transitions, in order.
pub(crate) struct Watcher {
    hooks: Hooks,
    moves: Sender<Told>,
    /// The number of transitions of the run.
    all: u64,
    /// The number of transitions that the hooks know of: they were told of them, or of the gap.
    known: Arc<AtomicU64>,
    /// The number of transitions since the last one that was sent.
    missed: u64,
    /// The session of the newest transition.
    session: Option<SessionKey>,
    telling: Guarded<()>,
}

/// A transition, after this number of transitions that were not sent.
struct Told {
    missed: u64,
    moved: Moved,
}

impl Watcher {
    /// Starts to tell the hooks. Returns `None` if no hook is called at transitions.
    pub(crate) fn of(hooks: &Hooks) -> Option<Self> {
        hooks.at(HookPoint::Transition).next()?;
        let (moves, mut told) = mpsc::channel::<Told>(WAITING_MAX);
        let known = Arc::new(AtomicU64::new(0));
        let telling = guarded({
            let (hooks, known) = (hooks.clone(), Arc::clone(&known));
            async move {
                while let Some(Told { missed, moved }) = told.recv().await {
                    tell_of_missed(&hooks, &moved.session, missed).await;
                    known.fetch_add(missed + 1, Ordering::Relaxed);
                    for hooked in hooks.at(HookPoint::Transition) {
                        let (hook, moved) = (Arc::clone(&hooked.hook), moved.clone());
                        // A failure is only logged, because the transition has happened already.
                        let asked = async move { hook.transition(&moved).await };
                        let _ = hooked.ask(HookPoint::Transition, asked).await;
                    }
                }
            }
        });
        Some(Self { hooks: hooks.clone(), moves, all: 0, known, missed: 0, session: None, telling })
    }

    pub(crate) fn tell(&mut self, moved: Moved) {
        self.session = Some(moved.session.clone());
        self.all += 1;
        match self.moves.try_send(Told { missed: self.missed, moved }) {
            Ok(()) => self.missed = 0,
            Err(error) => {
                self.missed += 1;
                tracing::warn!(%error, "hooks are too slow for the transitions of a run");
            }
        }
    }

    /// Stops, because the run is over. Waits for at most [`LAST_WORDS`] until the hooks have been told of all transitions,
    /// and as long again until they know how many they have missed.
    pub(crate) async fn finish(self) {
        let Self { hooks, moves, all, known, session, mut telling, .. } = self;
        drop(moves);
        if timeout(LAST_WORDS, &mut telling).await.is_err() {
            tracing::warn!("hooks have not heard of all transitions of a run");
        }
        drop(telling);
        let missed = all.saturating_sub(known.load(Ordering::Relaxed));
        if let Some(session) = session
            && timeout(LAST_WORDS, tell_of_missed(&hooks, &session, missed)).await.is_err()
        {
            tracing::warn!(missed, "hooks have not heard how many transitions of a run they missed");
        }
    }
}

/// Tells the hooks that they were not told of this number of transitions. Does nothing if it is 0.
async fn tell_of_missed(hooks: &Hooks, session: &SessionKey, count: u64) {
    if count == 0 {
        return;
    }
    for hooked in hooks.at(HookPoint::Transition) {
        let (hook, missed) = (Arc::clone(&hooked.hook), MovesMissed::new(session.clone(), count));
        let asked = async move { hook.transitions_missed(&missed).await };
        let _ = hooked.ask(HookPoint::Transition, asked).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use holdover_core::history::{Input, StateKind};
    use holdover_core::hook::{Hook, HookError};
    use holdover_core::time::Timestamp;

    use super::*;

    /// A hook that takes this time for each transition, and keeps what it is told: `Ok` for a transition, or the number
    /// of transitions that it missed.
    struct Slow {
        takes: Duration,
        told: Arc<Mutex<Vec<Result<(), u64>>>>,
    }

    #[async_trait]
    impl Hook for Slow {
        fn name(&self) -> &str {
            "slow"
        }

        fn points(&self) -> &[HookPoint] {
            &[HookPoint::Transition]
        }

        async fn transition(&self, _moved: &Moved) -> Result<(), HookError> {
            self.told.lock().unwrap().push(Ok(()));
            tokio::time::sleep(self.takes).await;
            Ok(())
        }

        async fn transitions_missed(&self, missed: &MovesMissed) -> Result<(), HookError> {
            self.told.lock().unwrap().push(Err(missed.count));
            Ok(())
        }
    }

    fn moved() -> Moved {
        let session = SessionKey::new("acme".parse().unwrap(), "s".parse().unwrap());
        let (from, to) = (StateKind::TearingDown, StateKind::Done);
        Moved { session, from, input: Input::TornDown, to, at: Timestamp::from_ms(0) }
    }

    /// Requirements: D05.
    #[tokio::test(start_paused = true)]
    async fn d05_a_slow_hook_learns_how_many_transitions_it_missed() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let hook: Arc<dyn Hook> = Arc::new(Slow { takes: Duration::from_secs(1), told: Arc::clone(&told) });
        let hooks = Hooks::new("tester", vec![hook], &[]).unwrap();
        let mut watcher = Watcher::of(&hooks).unwrap();
        let most = WAITING_MAX as u64;
        for _ in 0..most + 7 {
            watcher.tell(moved());
        }
        // The hook takes two transitions, so there is room again, and one more is sent after the gap.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        watcher.tell(moved());
        watcher.finish().await;
        let told = told.lock().unwrap().clone();
        let heard = told.iter().filter(|told| told.is_ok()).count() as u64;
        let missed: u64 = told.iter().filter_map(|told| told.err()).sum();
        assert_eq!(heard + missed, most + 8, "none is dropped in silence");
        assert!((6..=8).contains(&heard), "{heard}");
        assert_eq!(told.last(), Some(&Err(missed)));
    }

    /// Requirements: D05.
    #[tokio::test(start_paused = true)]
    async fn d05_the_gap_is_told_at_its_place() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let hook: Arc<dyn Hook> = Arc::new(Slow { takes: Duration::from_millis(1), told: Arc::clone(&told) });
        let hooks = Hooks::new("tester", vec![hook], &[]).unwrap();
        let mut watcher = Watcher::of(&hooks).unwrap();
        for _ in 0..WAITING_MAX + 7 {
            watcher.tell(moved());
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        watcher.tell(moved());
        watcher.finish().await;
        let mut expected = vec![Ok(()); WAITING_MAX];
        expected.extend([Err(7), Ok(())]);
        assert_eq!(*told.lock().unwrap(), expected);
    }
}
