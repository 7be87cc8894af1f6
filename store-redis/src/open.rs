//! Opening: the settings, what is fixed of the store, and the mark that every partition carries.

use futures::future::try_join_all;
use holdover_core::store::Capabilities;
use uuid::Uuid;

use crate::args::Args;
use crate::error::Fault;
use crate::keys::Keys;
use crate::options::RedisOptions;
use crate::reply::Reply;
use crate::script::{FOUND, MARK};
use crate::settings;
use crate::wire::Wire;

/// The layout that this version reads and writes.
const FORMAT: u64 = 1;

/// A store that was opened.
pub(crate) struct Opened {
    pub(crate) wire: Wire,
    pub(crate) keys: Keys,
    pub(crate) incarnation: String,
    pub(crate) capabilities: Capabilities,
}

/// What is fixed when a store is made.
#[derive(Debug)]
struct Founded {
    partitions: u16,
    incarnation: String,
    /// Whether every partition was marked once.
    whole: bool,
}

/// Connects, checks the settings, and makes the store if it is not there. Safe when many do so at once.
pub(crate) async fn open(options: &RedisOptions) -> Result<Opened, Fault> {
    let wire = Wire::connect(options).await?;
    let capabilities = settings::read(&wire, options).await?;
    let fresh = Uuid::new_v4().simple().to_string();
    let mut founded = found(&wire, options, &fresh, "make").await?;
    let keys = Keys::new(&options.namespace, founded.partitions);
    if founded.whole && !is_whole(&wire, &keys, &founded.incarnation).await? {
        if !options.accept_loss {
            let detail = "partitions have lost their data; open with accept_loss to go on without it";
            return Err(Fault::WentBack(detail.into()));
        }
        founded = found(&wire, options, &fresh, "renew").await?;
        mark(&wire, &keys, &founded.incarnation, "replace").await?;
        founded = found(&wire, options, &founded.incarnation, "whole").await?;
    } else if !founded.whole {
        mark(&wire, &keys, &founded.incarnation, "make").await?;
        founded = found(&wire, options, &founded.incarnation, "whole").await?;
    }
    Ok(Opened { wire, keys, incarnation: founded.incarnation, capabilities })
}

async fn found(wire: &Wire, options: &RedisOptions, incarnation: &str, what: &str) -> Result<Founded, Fault> {
    let partitions = options.partitions.unwrap_or(RedisOptions::PARTITIONS);
    let args = Args::default().number(FORMAT).number(partitions).text(incarnation).text(what);
    let answer = wire.run(&FOUND, &[&Keys::meta(&options.namespace)], &args).await?;
    let mut fields = Reply::new(answer)?;
    let format = fields.number()?;
    if format > FORMAT {
        return Err(Fault::Newer(format!("format {format}, this version reads {FORMAT}")));
    }
    let stored = fields.number()?;
    let partitions = u16::try_from(stored).ok().filter(|partitions| *partitions > 0);
    let partitions = partitions.ok_or_else(|| Fault::Corrupt(format!("partitions: {stored}")))?;
    if let Some(asked) = options.partitions.filter(|asked| *asked != partitions) {
        let detail = format!("partitions: the store was made with {partitions}, {asked} were asked for");
        return Err(Fault::Invalid(detail));
    }
    Ok(Founded { partitions, incarnation: fields.text()?, whole: fields.boolean()? })
}

/// Whether every partition carries the mark of this store.
pub(crate) async fn is_whole(wire: &Wire, keys: &Keys, incarnation: &str) -> Result<bool, Fault> {
    Ok(mark(wire, keys, incarnation, "look").await?.iter().all(|found| found == incarnation))
}

async fn mark(wire: &Wire, keys: &Keys, incarnation: &str, what: &str) -> Result<Vec<String>, Fault> {
    let args = Args::default().text(incarnation).text(what);
    let marked = keys.partitions().map(|partition| mark_one(wire, keys.store(partition), &args));
    try_join_all(marked).await
}

async fn mark_one(wire: &Wire, key: String, args: &Args) -> Result<String, Fault> {
    let answer = wire.run(&MARK, &[&key], args).await?;
    Reply::new(redis::Value::Array(vec![answer]))?.text()
}
