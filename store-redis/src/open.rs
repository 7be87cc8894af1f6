//! Opening: the settings, what is fixed of the store, and the mark that every partition carries.

use futures::future::try_join_all;
use holdover_store::Capabilities;
use uuid::Uuid;

use crate::args::Args;
use crate::error::Fault;
use crate::keys::Keys;
use crate::options::{Opening, RedisOptions};
use crate::reply::Reply;
use crate::script::{FOUND, LOOK, LOOK_AT, MARK, Script};
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
    /// After how many breaks the capabilities were read.
    pub(crate) breaks: u64,
}

/// What is fixed when a store is made.
#[derive(Debug)]
struct Founded {
    partitions: u16,
    incarnation: String,
    /// Whether every partition was marked once.
    whole: bool,
}

/// Connects, checks the settings, and makes the store if it is not there and may be made. Safe when many do so at
/// once.
pub(crate) async fn open(options: &RedisOptions) -> Result<Opened, Fault> {
    let wire = Wire::connect(options).await?;
    let breaks = wire.breaks().count();
    let capabilities = settings::read(&wire, options).await?;
    let there = look(&wire, options).await?;
    let founded = match options.opening {
        Opening::Makes => make(&wire, options, there).await?,
        Opening::Updates => {
            let there =
                there.ok_or_else(|| absent(options, "there is no store yet, and none was to be made"));
            make(&wire, options, Some(there?)).await?
        }
        Opening::Looks => as_it_is(&wire, options, there).await?,
    };
    let keys = Keys::new(&options.namespace, founded.partitions);
    Ok(Opened { wire, keys, incarnation: founded.incarnation, capabilities, breaks })
}

fn absent(options: &RedisOptions, why: &str) -> Fault {
    Fault::Absent(format!("namespace {}: {why}", options.namespace))
}

fn went_back() -> Fault {
    Fault::WentBack("partitions have lost their data; open with accept_loss to go on without it".into())
}

/// The store that is there, whole.
async fn as_it_is(wire: &Wire, options: &RedisOptions, there: Option<Founded>) -> Result<Founded, Fault> {
    match there {
        None => Err(absent(options, "there is no store yet, and nothing was to be changed")),
        Some(founded) if !founded.whole => {
            Err(absent(options, "the store is not wholly made, and nothing was to be changed"))
        }
        Some(founded) => {
            let keys = Keys::new(&options.namespace, founded.partitions);
            let whole = is_whole(wire, &keys, &founded.incarnation).await?;
            if whole { Ok(founded) } else { Err(went_back()) }
        }
    }
}

/// Makes the store, or what is missing of it.
async fn make(wire: &Wire, options: &RedisOptions, there: Option<Founded>) -> Result<Founded, Fault> {
    let fresh = Uuid::new_v4().simple().to_string();
    let founded = match there {
        Some(founded) => founded,
        None => found(wire, options, &fresh, "make").await?,
    };
    let keys = Keys::new(&options.namespace, founded.partitions);
    if !founded.whole {
        let marks = mark(wire, &keys, &founded.incarnation, "make").await?;
        // Of a store that was there, what is fixed was lost, or it was renewed by somebody who did not come far.
        if marks.iter().any(|mark| *mark != founded.incarnation) {
            if !options.accept_loss {
                return Err(went_back());
            }
            mark(wire, &keys, &founded.incarnation, "replace").await?;
        }
        return found(wire, options, &founded.incarnation, "whole").await;
    }
    if is_whole(wire, &keys, &founded.incarnation).await? {
        return Ok(founded);
    }
    if !options.accept_loss {
        return Err(went_back());
    }
    let founded = found(wire, options, &fresh, "renew").await?;
    mark(wire, &keys, &founded.incarnation, "replace").await?;
    found(wire, options, &founded.incarnation, "whole").await
}

/// What is fixed of the store, if there is one.
async fn look(wire: &Wire, options: &RedisOptions) -> Result<Option<Founded>, Fault> {
    let answer = wire.run(&LOOK, &[&Keys::meta(&options.namespace)], &Args::default()).await?;
    if let redis::Value::Array(fields) = &answer
        && fields.first() == Some(&redis::Value::Nil)
    {
        return Ok(None);
    }
    Ok(Some(read(answer, options)?))
}

async fn found(wire: &Wire, options: &RedisOptions, incarnation: &str, what: &str) -> Result<Founded, Fault> {
    let partitions = options.partitions.unwrap_or(RedisOptions::PARTITIONS);
    let args = Args::default().number(FORMAT).number(partitions).text(incarnation).text(what);
    read(wire.run(&FOUND, &[&Keys::meta(&options.namespace)], &args).await?, options)
}

fn read(answer: redis::Value, options: &RedisOptions) -> Result<Founded, Fault> {
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
    let marks = in_each(wire, keys, &LOOK_AT, &Args::default()).await?;
    Ok(marks.iter().all(|found| found == incarnation))
}

async fn mark(wire: &Wire, keys: &Keys, incarnation: &str, what: &str) -> Result<Vec<String>, Fault> {
    in_each(wire, keys, &MARK, &Args::default().text(incarnation).text(what)).await
}

/// What a script on the mark of each partition answers.
async fn in_each(wire: &Wire, keys: &Keys, script: &Script, args: &Args) -> Result<Vec<String>, Fault> {
    let asked = keys.partitions().map(|partition| {
        let key = keys.store(partition);
        async move {
            let answer = wire.run(script, &[&key], args).await?;
            Reply::new(redis::Value::Array(vec![answer]))?.text()
        }
    });
    try_join_all(asked).await
}
