//! The number of streams that each caller has open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use holdover_core::ids::TenantId;

use crate::access::Caller;
use crate::problem::Problem;

/// Counts streams by the tenant and the name of their callers.
#[derive(Clone)]
pub(crate) struct Streams {
    most: usize,
    open: Arc<Mutex<Open>>,
}

type Open = HashMap<(TenantId, Option<String>), usize>;

/// One open stream. It is closed when this is dropped.
pub(crate) struct Seat {
    streams: Streams,
    of: (TenantId, Option<String>),
}

impl Streams {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    /// Opens a stream for a caller who has fewer than the most.
    pub(crate) fn open(&self, caller: &Caller) -> Result<Seat, Problem> {
        let of = (caller.tenant().clone(), caller.name().map(str::to_owned));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(of.clone()).or_default();
        if *count >= self.most {
            let detail = format!("{} streams are open; close one first", self.most);
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", detail));
        }
        *count += 1;
        drop(open);
        Ok(Seat { streams: self.clone(), of })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.of);
            }
        }
    }
}
