//! Bare inserts of many tasks at once: all inserts that wait when the connection is free become one transaction.

use std::path::Path;
use std::thread::JoinHandle;

use holdover::store::Capabilities;
use tokio::sync::{mpsc, oneshot};

use super::Raw;
use crate::Failed;

/// The maximum number of inserts that share a transaction, as in the store.
const GROUP_MAX: usize = 256;

/// A handle to the thread that inserts.
pub(crate) struct Grouped {
    queue: Option<mpsc::Sender<Insert>>,
    writer: Option<JoinHandle<()>>,
}

struct Insert {
    payload: Vec<u8>,
    reply: oneshot::Sender<Result<(), String>>,
}

impl Grouped {
    pub(crate) fn open(folder: &Path, store: &Capabilities) -> Result<Self, Failed> {
        let raw = Raw::open(folder, store)?;
        let (queue, waiting) = mpsc::channel(GROUP_MAX);
        let writer = std::thread::Builder::new().spawn(move || serve(&raw, waiting))?;
        Ok(Self { queue: Some(queue), writer: Some(writer) })
    }

    /// Inserts these bytes. Returns once they are synced.
    pub(crate) async fn insert(&self, payload: Vec<u8>) -> Result<(), Failed> {
        let (reply, inserted) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or("closed")?;
        queue.send(Insert { payload, reply }).await?;
        Ok(inserted.await??)
    }
}

impl Drop for Grouped {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            // If the thread panicked, the waiting tasks already received an error.
            let _ = writer.join();
        }
    }
}

fn serve(raw: &Raw, mut waiting: mpsc::Receiver<Insert>) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    while waiting.blocking_recv_many(&mut group, GROUP_MAX) > 0 {
        let inserted = raw.insert(group.iter().map(|insert| insert.payload.as_slice()));
        let inserted = inserted.map_err(|error| error.to_string());
        for insert in group.drain(..) {
            // The task that asked may have ended.
            let _ = insert.reply.send(inserted.clone());
        }
    }
}
