//! The store: checks arguments, runs scripts, takes their answers apart.

use std::sync::Arc;

use holdover_store::ids::{Fence, SessionKey};
use holdover_store::{Capabilities, Receipt, StoreError};
use tokio::time::Instant;

use crate::args::Args;
use crate::columns;
use crate::error::{Call, Fault, may_run_soon};
use crate::grants::Grants;
use crate::hints::Hints;
use crate::keys::Keys;
use crate::open::{self, Opened};
use crate::options::RedisOptions;
use crate::reply::Reply;
use crate::script::{Does, Script, Scripts};
use crate::trust::Trust;
use crate::wire::{Pauses, Wire};

/// Sessions in Redis, shared by every process that reaches it.
///
/// Cheap to clone; clones share their connections. Needs a tokio runtime.
#[derive(Clone)]
pub struct RedisStore {
    pub(crate) shared: Arc<Shared>,
}

/// What all clones of a handle share.
pub(crate) struct Shared {
    pub(crate) wire: Wire,
    pub(crate) keys: Keys,
    pub(crate) scripts: &'static Scripts,
    pub(crate) grants: Grants,
    pub(crate) hints: Option<Hints>,
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
        let shared = Shared {
            wire,
            keys,
            scripts: Scripts::of(options.clock),
            grants: Grants::default(),
            hints,
            trust: Trust::new(options, capabilities, breaks),
            incarnation,
        };
        Ok(Self { shared: Arc::new(shared) })
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

    /// Arguments of a write of a run: the fence, and what is known of it.
    pub(crate) fn fenced(&self, fence: &Fence) -> Args {
        let grant = self.grants.of(fence);
        let args = self
            .args()
            .incarnation(fence.incarnation)
            .number(fence.epoch.0)
            .optional(grant.as_ref().map(|grant| grant.run.as_str()))
            .optional_number(grant.as_ref().map(|grant| grant.version.0));
        match grant {
            Some(grant) => args.bound(grant.at),
            None => args.bytes([]),
        }
    }

    /// The receipt that comes next, remembered.
    pub(crate) fn receipt(&self, fence: &Fence, reply: &mut Reply) -> Result<Receipt, Fault> {
        let receipt = columns::receipt(&reply.text()?)?;
        self.grants.acknowledged(fence, &receipt);
        Ok(receipt)
    }

    /// Runs a script on one session.
    pub(crate) async fn on(&self, script: &Script, key: &SessionKey, args: Args) -> Result<Reply, Fault> {
        self.run(script, self.keys.partition_of(key), Some(&self.keys.row(key)), &args).await
    }

    /// Runs a script in one partition, on a server whose settings are known; again, as long as the server refuses to
    /// run it and the time of one operation is not over.
    pub(crate) async fn run(
        &self,
        script: &Script,
        partition: u16,
        key: Option<&str>,
        args: &Args,
    ) -> Result<Reply, Fault> {
        let store = self.keys.store(partition);
        let keys: Vec<&str> = [store.as_str()].into_iter().chain(key).collect();
        let (began, mut pauses) = (Instant::now(), Pauses::within(self.wire.timeout()));
        loop {
            self.trust.check(&self.wire).await?;
            match self.wire.try_run(script, &keys, args).await {
                Ok(answer) => {
                    self.trust.confirm(&self.wire).await?;
                    return Reply::new(answer);
                }
                Err(error) if may_run_soon(&error) && pauses.pause().await => {}
                Err(error) => return Err(Fault::from(error).since(began)),
            }
        }
    }

    /// Runs a script on one session and reads the answer by its first word.
    pub(crate) async fn ask<T>(
        &self,
        operation: &'static str,
        script: &Script,
        key: &SessionKey,
        args: Result<Args, Fault>,
        read: impl FnOnce(&str, &mut Reply) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let asked = async {
            let mut reply = self.on(script, key, args?).await?;
            let word = reply.text()?;
            read(&word, &mut reply)
        };
        asked.await.map_err(|fault| fault.of(call_of(script), operation, Some(key)))
    }
}

/// What is lost when the answer of this script is.
pub(crate) fn call_of(script: &Script) -> Call {
    match script.does {
        Does::Reads => Call::Read,
        Does::Writes | Does::Removes => Call::Write,
    }
}

/// A word that no script of this version answers.
pub(crate) fn unknown<T>(word: &str) -> Result<T, Fault> {
    Err(Fault::Corrupt(format!("a script answered {word:?}")))
}
