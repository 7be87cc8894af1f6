//! The store: a handle, what its clones share, and how a script is run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use holdover_store::ids::SessionKey;
use holdover_store::rows::RowStore;
use holdover_store::{Capabilities, StoreError};
use tokio::time::Instant;

use crate::args::Args;
use crate::clock::Clocks;
use crate::error::{Call, Fault, may_run_soon};
use crate::fork::Drafts;
use crate::grants::Grants;
use crate::hints::Hints;
use crate::keys::Keys;
use crate::open::{self, Opened};
use crate::options::RedisOptions;
use crate::reply::Reply;
use crate::rows::RedisRows;
use crate::script::{ClockSource, Script, Scripts};
use crate::trust::Trust;
use crate::wire::{Pauses, Wire};

/// Sessions in Redis, shared by every process that reaches it.
///
/// Cheap to clone; clones share their connections. Needs a tokio runtime.
#[derive(Clone)]
pub struct RedisStore {
    pub(crate) rows: RowStore<RedisRows>,
    pub(crate) shared: Arc<Shared>,
}

/// What all clones of a handle share.
pub(crate) struct Shared {
    pub(crate) wire: Wire,
    pub(crate) keys: Keys,
    pub(crate) scripts: &'static Scripts,
    pub(crate) grants: Grants,
    pub(crate) hints: Option<Hints>,
    pub(crate) clocks: Clocks,
    pub(crate) drafts: Drafts,
    /// Whether the partitions lie in a cluster.
    pub(crate) cluster: bool,
    /// Whether each partition is asked by itself: always in a cluster, and where the server asks for it.
    pub(crate) apart: AtomicBool,
    trust: Trust,
    incarnation: String,
}

impl RedisStore {
    /// Opens the store and makes it if it is not there. Safe when several processes do so at once.
    ///
    /// # Errors
    /// Of operation `open`: [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the server
    /// cannot be reached, is too old, is a replica, may forget sessions by itself, or has lost partitions;
    /// [`Newer`](holdover_store::StoreErrorKind::Newer) if a newer version made the store;
    /// [`InvalidArgument`](holdover_store::StoreErrorKind::InvalidArgument) if it has another number of
    /// partitions than is asked for.
    pub async fn open(options: RedisOptions) -> Result<Self, StoreError> {
        let opened = open::open(&options).await.map_err(|fault| fault.of(Call::Read, "open", None))?;
        let Opened { wire, keys, incarnation, capabilities, breaks } = opened;
        let hints = options.change_hints.then(|| Hints::new(options.clone(), &keys));
        let clocks = match options.clock {
            ClockSource::Server if options.cluster => Clocks::new(keys.partitions().len()),
            ClockSource::Server => Clocks::new(1),
            #[cfg(feature = "conformance")]
            ClockSource::Key => Clocks::always_asked(),
        };
        let shared = Arc::new(Shared {
            wire,
            keys,
            scripts: Scripts::of(options.clock),
            grants: Grants::default(),
            hints,
            clocks,
            drafts: Drafts::default(),
            cluster: options.cluster,
            apart: AtomicBool::new(options.cluster),
            trust: Trust::new(options, capabilities, breaks),
            incarnation,
        });
        Ok(Self { rows: RowStore::new(RedisRows(Arc::clone(&shared))), shared })
    }

    /// Opens the store named by `redis://…` or `redis+cluster://…`, or by `rediss://…` or `rediss+cluster://…` with
    /// TLS, with the usual options.
    ///
    /// # Errors
    /// As [`RedisOptions::from_url`] and [`open`](Self::open).
    pub async fn open_url(url: &str) -> Result<Self, StoreError> {
        Self::open(RedisOptions::from_url(url)?).await
    }
}

impl Shared {
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.trust.capabilities()
    }

    /// The arguments of a script begin with the incarnation of the store that was opened.
    pub(crate) fn args(&self) -> Args {
        Args::default().text(&self.incarnation)
    }

    /// Which clock tells the time of a partition.
    pub(crate) fn clock_of(&self, partition: u16) -> usize {
        if self.cluster { usize::from(partition) } else { 0 }
    }

    /// Runs a script on one session.
    pub(crate) async fn on(&self, script: &Script, key: &SessionKey, args: Args) -> Result<Reply, Fault> {
        self.run(script, self.keys.partition_of(key), Some(&self.keys.row(key)), &args).await
    }

    /// Runs a script in one partition.
    pub(crate) async fn run(
        &self,
        script: &Script,
        partition: u16,
        key: Option<&str>,
        args: &Args,
    ) -> Result<Reply, Fault> {
        let store = self.keys.store(partition);
        let keys: Vec<&str> = [store.as_str()].into_iter().chain(key).collect();
        self.run_on(script, &keys, args).await
    }

    /// Runs a script, on a server whose settings are known; again, as long as the server refuses to run it and the
    /// time of one operation is not over.
    pub(crate) async fn run_on(&self, script: &Script, keys: &[&str], args: &Args) -> Result<Reply, Fault> {
        let (began, mut pauses) = (Instant::now(), Pauses::within(self.wire.timeout()));
        loop {
            self.trust.check(&self.wire).await?;
            match self.wire.try_run(script, keys, args).await {
                Ok(answer) => {
                    self.trust.confirm(&self.wire).await?;
                    return Reply::new(answer);
                }
                Err(error) if may_run_soon(&error) && pauses.pause().await => {}
                Err(error) => return Err(Fault::from(error).since(began)),
            }
        }
    }
}

/// A word that no script of this version answers.
pub(crate) fn unknown<T>(word: &str) -> Result<T, Fault> {
    Err(Fault::Corrupt(format!("a script answered {word:?}")))
}
