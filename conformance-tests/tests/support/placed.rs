//! The memory store behind a place in which it is opened, and the faults that such a store can have.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, OpenResult, Place, StoreHarness, StoreInfo, Tampering,
    VirtualClock,
};
use holdover_store::ids::SessionKey;
use holdover_store::{
    Answer, Capabilities, CommitSurvives, Layer, Layered, Request, StateStore, StoreError, StoreErrorKind,
};
use holdover_store_memory::{Limits, MemoryStore};

/// The fault of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    Nothing,
    /// Each open creates a new store.
    MakesItAnew,
    /// Two concurrent opens create one store each.
    MakesTwo,
    /// Opening ignores the version of the data.
    OpensNewer,
    /// Opening empties newer data before refusing it.
    EmptiesNewer,
    /// An open that is dropped leaves its lock behind.
    LeavesItsLock,
    /// Damaged data is returned as it is.
    BelievesWhatItReads,
    /// Damage is reported as an error that may be retried.
    HopesForTheBest,
    /// One damaged session makes every call fail.
    FailsAsAWhole,
    /// `open_as_it_is` creates the store if there is none.
    MakesAsItIs,
}

/// The data in a place.
#[derive(Default)]
struct Data {
    store: Option<MemoryStore>,
    newer: bool,
    locked: bool,
    status: Option<SessionKey>,
    message: Option<SessionKey>,
}

struct MemoryPlace {
    data: Arc<Mutex<Data>>,
    wrong: Wrong,
}

fn store() -> MemoryStore {
    let limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };
    MemoryStore::with(VirtualClock::new(), limits)
}

fn error(kind: StoreErrorKind) -> StoreError {
    StoreError::new(kind, "open", "a place in memory")
}

impl MemoryPlace {
    fn layered(&self, store: MemoryStore) -> Arc<dyn StateStore> {
        Arc::new(Layered::new(store, Damaged { data: Arc::clone(&self.data), wrong: self.wrong }))
    }
}

#[async_trait]
impl Place for MemoryPlace {
    async fn open(&self) -> OpenResult {
        tokio::task::yield_now().await;
        let there = {
            let mut data = self.data.lock().unwrap();
            if data.newer && self.wrong != Wrong::OpensNewer {
                if self.wrong == Wrong::EmptiesNewer {
                    data.store = None;
                }
                return Err(error(StoreErrorKind::Newer));
            }
            if data.locked {
                return Err(error(StoreErrorKind::Unavailable));
            }
            if self.wrong == Wrong::LeavesItsLock {
                data.locked = true;
            }
            data.store.clone()
        };
        let made = there.filter(|_| self.wrong != Wrong::MakesItAnew);
        let looks_again = self.wrong != Wrong::MakesTwo && self.wrong != Wrong::MakesItAnew;
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        if self.wrong == Wrong::MakesTwo {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut data = self.data.lock().unwrap();
        data.locked = false;
        let made = made.or_else(|| data.store.clone().filter(|_| looks_again)).unwrap_or_else(store);
        data.store = Some(made.clone());
        Ok(self.layered(made))
    }

    async fn open_as_it_is(&self) -> Option<OpenResult> {
        if self.wrong == Wrong::MakesAsItIs {
            return Some(self.open().await);
        }
        let found = self.data.lock().unwrap().store.clone();
        Some(found.map(|store| self.layered(store)).ok_or_else(|| error(StoreErrorKind::Unavailable)))
    }

    async fn tamper(&self, with: Tampering<'_>) {
        let mut data = self.data.lock().unwrap();
        match with {
            Tampering::Newer => data.newer = true,
            Tampering::NotNewer => data.newer = false,
            Tampering::UnknownStatus(key) => data.status = Some(key.clone()),
            Tampering::Message(key) => data.message = Some(key.clone()),
            _ => panic!("{with:?} is not known here"),
        }
    }
}

/// A layer that reports damaged data. Some faults change or suppress the report.
pub(crate) struct Damaged {
    data: Arc<Mutex<Data>>,
    wrong: Wrong,
}

#[async_trait]
impl Layer for Damaged {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let (status, message) = {
            let data = self.data.lock().unwrap();
            (data.status.clone(), data.message.clone())
        };
        let corrupt = || {
            let kind = match self.wrong {
                Wrong::HopesForTheBest => StoreErrorKind::Unavailable,
                _ => StoreErrorKind::Corrupt,
            };
            let error = StoreError::new(kind, request.operation(), "damaged");
            request.key().map_or(error_of(kind), |key| error.on(key))
        };
        let damaged = status.is_some() || message.is_some();
        if self.wrong == Wrong::FailsAsAWhole && damaged {
            return Err(corrupt());
        }
        if self.wrong == Wrong::BelievesWhatItReads {
            return request.perform(&store).await;
        }
        let removes = matches!(request, Request::Delete(..));
        if status.is_some() && request.key() == status.as_ref() && !removes {
            return Err(corrupt());
        }
        if let Request::ReadMessages(key, ranges) = &request
            && message.as_ref() == Some(key)
            && ranges.iter().any(|range| range.from.0 <= 1)
        {
            return Err(corrupt());
        }
        match request.perform(&store).await? {
            Answer::ClaimedDue(claims) => {
                let sound = claims.into_iter().filter(|claim| Some(&claim.fence.key) != status.as_ref());
                Ok(Answer::ClaimedDue(sound.collect()))
            }
            answer => Ok(answer),
        }
    }

    fn capabilities(&self, store: &dyn StateStore) -> Capabilities {
        Capabilities { commit_survives: CommitSurvives::ProcessKill, ..store.capabilities() }
    }
}

fn error_of(kind: StoreErrorKind) -> StoreError {
    StoreError::new(kind, "claim_due", "damaged")
}

/// The harness for the suite.
pub(crate) struct PlacedHarness(pub(crate) Wrong);

/// The store that a case begins with, though these cases use only places.
pub(crate) type Placed = Layered<MemoryStore, Damaged>;

fn fresh(wrong: Wrong) -> Placed {
    Layered::new(store(), Damaged { data: Arc::default(), wrong })
}

#[async_trait]
impl StoreHarness for PlacedHarness {
    type Store = Placed;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("placed", "1")
    }

    async fn fresh(&self) -> Instance<Placed> {
        Instance::new(fresh(self.0))
    }

    async fn peer(&self, _: &Instance<Placed>) -> Placed {
        fresh(self.0)
    }

    async fn reopen(&self, of: Instance<Placed>) -> Instance<Placed> {
        of
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(VirtualClock::new())
    }

    async fn place(&self) -> Option<Arc<dyn Place>> {
        Some(Arc::new(MemoryPlace { data: Arc::default(), wrong: self.0 }))
    }

    fn gaps(&self) -> Vec<Gap> {
        vec![Gap::capability(Capability::ChildProcess, "it is a test")]
    }
}
