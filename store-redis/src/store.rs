//! The store: a handle, the state that its clones share, and the functions that run a script.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use futures::future::try_join_all;
use holdover_store::ids::SessionKey;
use holdover_store::rows::RowStore;
use holdover_store::time::Timestamp;
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
use crate::reply::{self, Reply};
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

/// The state that all clones of a handle share.
pub(crate) struct Shared {
    pub(crate) wire: Wire,
    pub(crate) keys: Keys,
    pub(crate) scripts: &'static Scripts,
    pub(crate) grants: Grants,
    pub(crate) hints: Option<Hints>,
    pub(crate) clocks: Clocks,
    pub(crate) drafts: Drafts,
    /// True if the partitions lie in a cluster.
    pub(crate) cluster: bool,
    /// True if each partition is asked separately: always in a cluster, and on a server that requires it.
    pub(crate) apart: AtomicBool,
    /// True if the indexes by incarnation contain all sessions.
    pub(crate) has_all_lives: bool,
    /// True if the indexes by label contain all sessions.
    pub(crate) has_all_labels: bool,
    /// True if the indexes by kind contain all pending calls.
    pub(crate) has_all_kinds: bool,
    trust: Trust,
    incarnation: String,
}

impl RedisStore {
    /// Opens the store, and creates it if it does not exist, unless the options rule that out. A store of an older
    /// version is updated, which shuts that version out. Several processes may open the store at once.
    ///
    /// # Errors
    /// Errors have the operation `open`:
    ///
    /// - [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the server cannot be reached, refuses the
    ///   user, is too old, is a replica, may evict sessions by itself, or has lost partitions, or if the store would
    ///   have to be created or updated and the options rule that out
    /// - [`Newer`](holdover_store::StoreErrorKind::Newer) if a newer version made or updated the store
    /// - [`InvalidArgument`](holdover_store::StoreErrorKind::InvalidArgument) if the store has another number of
    ///   partitions than was asked for
    pub async fn open(options: RedisOptions) -> Result<Self, StoreError> {
        let opened = open::open(&options).await.map_err(|fault| fault.of(Call::Read, "open", None))?;
        let Opened {
            wire,
            keys,
            incarnation,
            is_unfinished,
            has_all_lives,
            has_all_labels,
            has_all_kinds,
            capabilities,
            breaks,
        } = opened;
        let hints = options.change_hints.then(|| Hints::new(options.clone(), &keys));
        let clocks = match options.clock {
            ClockSource::Server if options.cluster => Clocks::new(keys.partitions().len()),
            ClockSource::Server => Clocks::new(1),
            #[cfg(feature = "test-access")]
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
            has_all_lives,
            has_all_labels,
            has_all_kinds,
            trust: Trust::new(options.clone(), capabilities, breaks),
            incarnation,
        });
        if is_unfinished {
            shared.finish(&options).await.map_err(|fault| fault.of(Call::Read, "open", None))?;
        }
        Ok(Self { rows: RowStore::new(RedisRows(Arc::clone(&shared))), shared })
    }

    /// Opens the store named by `redis://…` or `redis+cluster://…`, or by `rediss://…` or `rediss+cluster://…` with
    /// TLS, with the usual options.
    ///
    /// # Errors
    /// The errors of [`RedisOptions::from_url`] and [`open`](Self::open).
    pub async fn open_url(url: &str) -> Result<Self, StoreError> {
        Self::open(RedisOptions::from_url(url)?).await
    }
}

impl Shared {
    /// Moves the entries that an older version left to the indexes of this one, and records that this is done.
    async fn finish(&self, options: &RedisOptions) -> Result<(), Fault> {
        self.move_alarms().await?;
        open::finished(&self.wire, options, &self.incarnation).await
    }

    /// Records that all indexes contain all sessions and pending calls.
    pub(crate) async fn indexed(&self) -> Result<(), Fault> {
        open::indexed(&self.wire, &self.keys, &self.incarnation).await
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.trust.capabilities()
    }

    /// Returns the first argument of every script of [`Scripts`]: the incarnation of the store that was opened.
    pub(crate) fn args(&self) -> Args {
        Args::default().text(&self.incarnation)
    }

    /// Returns the number of the clock that a partition uses.
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

    /// Runs a script over several partitions, with arguments for all and for each. Takes one round of requests: one
    /// request to a single server, or one for each partition at the same time, if partitions must be asked
    /// separately. `read` parses the answer of one partition. Each result comes with the clock of its server.
    pub(crate) async fn over<T>(
        &self,
        script: &Script,
        args: Args,
        of_each: &[(u16, Args)],
        read: impl Fn(&mut Reply) -> Result<T, Fault>,
    ) -> Result<Vec<(Timestamp, T)>, Fault> {
        if !self.apart.load(Relaxed) {
            match self.over_together(script, &args, of_each, &read).await {
                Err(Fault::Redis(error, _)) if error.code() == Some("CROSSSLOT") => {
                    self.apart.store(true, Relaxed);
                }
                over => return over,
            }
        }
        let each = of_each.chunks(1).map(|one| self.over_together(script, &args, one, &read));
        Ok(try_join_all(each).await?.into_iter().flatten().collect())
    }

    async fn over_together<T>(
        &self,
        script: &Script,
        args: &Args,
        of_each: &[(u16, Args)],
        read: &impl Fn(&mut Reply) -> Result<T, Fault>,
    ) -> Result<Vec<(Timestamp, T)>, Fault> {
        let Some((first, _)) = of_each.first() else { return Ok(Vec::new()) };
        let args = of_each.iter().fold(args.clone(), |args, (_, own)| args.all(own));
        let stores: Vec<String> = of_each.iter().map(|(partition, _)| self.keys.store(*partition)).collect();
        let keys: Vec<&str> = stores.iter().map(String::as_str).collect();
        let sent = std::time::Instant::now();
        let mut reply = self.run_on(script, &keys, &args).await?;
        let now = reply::instant(&reply.bytes()?)?;
        self.clocks.heard(self.clock_of(*first), sent, now);
        of_each.iter().map(|_| Ok((now, read(&mut reply)?))).collect()
    }

    /// Runs a script. If a server may answer whose settings are unknown, reads the settings first, and checks again
    /// after the answer. Retries while the server refuses to run the script, within the time limit of one operation.
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
                Err(error) => {
                    let fault = Fault::from(error).since(began);
                    let is_changed = matches!(fault, Fault::WentBack(_));
                    return Err(match is_changed {
                        true => open::why_changed(&self.wire, &self.keys, fault).await,
                        false => fault,
                    });
                }
            }
        }
    }
}

/// Returns the fault of a word that no script of this version answers.
pub(crate) fn unknown<T>(word: &str) -> Result<T, Fault> {
    Err(Fault::Corrupt(format!("a script answered {word:?}")))
}
