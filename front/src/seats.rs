//! The number of requests and of streams that each caller has open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use holdover_core::ids::TenantId;

use crate::access::Caller;
use crate::problem::Problem;

/// Counts what callers have open, by their tenants and names.
#[derive(Clone)]
pub(crate) struct Seats {
    kind: Kind,
    most: usize,
    open: Arc<Mutex<Open>>,
}

/// The things that are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Requests that are not answered yet.
    Requests,
    /// Streams.
    Streams,
}

type Open = HashMap<(TenantId, Option<String>), usize>;

/// One open request or stream. It is closed when this is dropped.
pub(crate) struct Seat {
    seats: Seats,
    of: (TenantId, Option<String>),
}

impl Seats {
    pub(crate) fn new(kind: Kind, most: usize) -> Self {
        Self { kind, most, open: Arc::default() }
    }

    /// Takes a seat for a caller who has fewer than the most.
    pub(crate) fn open(&self, caller: &Caller) -> Result<Seat, Problem> {
        let of = (caller.tenant().clone(), caller.name().map(str::to_owned));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(of.clone()).or_default();
        if *count >= self.most {
            let (code, what) = match self.kind {
                Kind::Requests => ("too_many_requests", "requests are not answered yet; wait for one"),
                Kind::Streams => ("too_many_streams", "streams are open; close one first"),
            };
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, code, format!("{} {what}", self.most)));
        }
        *count += 1;
        drop(open);
        Ok(Seat { seats: self.clone(), of })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.seats.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.of);
            }
        }
    }
}
