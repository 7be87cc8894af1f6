//! Opens a store: reads the settings, the fixed parameters of the store, and the mark that every partition
//! carries.

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

/// The format that this version reads and writes. In format 1, sessions with an alarm were in other indexes. In
/// format 2, no index had sessions by label. In format 3, no index had pending calls by kind.
const FORMAT: u64 = 4;

/// The most attempts to open a store whose fixed parameters other processes change meanwhile.
const CHANGES_MAX: usize = 16;

/// A store that was opened.
pub(crate) struct Opened {
    pub(crate) wire: Wire,
    pub(crate) keys: Keys,
    pub(crate) incarnation: String,
    /// True if sessions may be in the indexes of an older version. The store is not whole until they are moved.
    pub(crate) is_unfinished: bool,
    /// True if the indexes by incarnation contain all sessions. Format 1 may have left some out.
    pub(crate) has_all_lives: bool,
    /// True if the indexes by label contain all sessions. Formats 1 and 2 may have left some out.
    pub(crate) has_all_labels: bool,
    /// True if the indexes by kind contain all pending calls. Formats 1 to 3 may have left some out.
    pub(crate) has_all_kinds: bool,
    pub(crate) capabilities: Capabilities,
    /// The break count at which the capabilities were read.
    pub(crate) breaks: u64,
}

/// The fixed parameters of a store.
#[derive(Debug)]
struct Founded {
    format: u64,
    partitions: u16,
    incarnation: String,
    /// True if every partition has been marked, and everything that an older version left was moved.
    whole: bool,
    /// The incarnation before the store was raised from an older format. None if that work is finished, or was never
    /// needed.
    raised_from: Option<String>,
    /// True if the store never had format 1, or a rebuild has since added all sessions to the indexes by incarnation.
    has_all_lives: bool,
    /// True if the store never had format 1 or 2, or a rebuild has since added all sessions to the indexes by label.
    has_all_labels: bool,
    /// True if the store never had formats 1 to 3, or a rebuild has since added all pending calls to the indexes by kind.
    has_all_kinds: bool,
}

/// A change of the fixed parameters.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Creates the parameters.
    Make,
    /// Gives the store another incarnation, and so gives up lost data.
    Renew,
    /// Records that data was lost, so that no index counts as complete.
    Lost,
    /// Gives the store another incarnation and this version's format.
    Raise,
    /// Records that creating or raising the store is finished.
    Whole,
    /// Records that all indexes contain all sessions and pending calls.
    Indexed,
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::Make => "make",
            Self::Renew => "renew",
            Self::Lost => "lost",
            Self::Raise => "raise",
            Self::Whole => "whole",
            Self::Indexed => "indexed",
        }
    }
}

/// Connects, checks the settings, and creates the store if it does not exist and may be created. Many processes
/// may do so at once.
pub(crate) async fn open(options: &RedisOptions) -> Result<Opened, Fault> {
    let wire = Wire::connect(options).await?;
    let breaks = wire.breaks().count();
    let capabilities = settings::read(&wire, options).await?;
    let founded = match options.opening {
        Opening::Makes | Opening::Updates => make(&wire, options).await?,
        Opening::Looks => as_it_is(&wire, options).await?,
    };
    let keys = Keys::new(&options.namespace, founded.partitions);
    let Founded { whole, has_all_lives, has_all_labels, has_all_kinds, incarnation, .. } = founded;
    let is_unfinished = !whole;
    Ok(Opened {
        wire,
        keys,
        incarnation,
        is_unfinished,
        has_all_lives,
        has_all_labels,
        has_all_kinds,
        capabilities,
        breaks,
    })
}

fn absent(options: &RedisOptions, why: &str) -> Fault {
    Fault::Absent(format!("namespace {}: {why}", options.namespace))
}

fn went_back() -> Fault {
    Fault::WentBack("partitions have lost their data; open with accept_loss to go on without it".into())
}

/// Returns the parameters of the existing store. Fails if there is no store, it needs an update, or it is not whole.
async fn as_it_is(wire: &Wire, options: &RedisOptions) -> Result<Founded, Fault> {
    let Some(founded) = look(wire, options).await? else {
        return Err(absent(options, "there is no store yet, and nothing was to be changed"));
    };
    if founded.format < FORMAT || founded.raised_from.is_some() {
        let why = format!(
            "the store has to be updated to format {FORMAT}, and nothing was to be changed: open it once to write"
        );
        return Err(absent(options, &why));
    }
    if !founded.whole {
        return Err(absent(options, "the store is not wholly made, and nothing was to be changed"));
    }
    let keys = Keys::new(&options.namespace, founded.partitions);
    let whole = is_whole(wire, &keys, &founded.incarnation).await?;
    if whole { Ok(founded) } else { Err(went_back()) }
}

/// Creates the store or its missing parts, and raises one of an older format. Afterwards every partition carries
/// its mark.
async fn make(wire: &Wire, options: &RedisOptions) -> Result<Founded, Fault> {
    let fresh = || Uuid::new_v4().simple().to_string();
    for _ in 0..CHANGES_MAX {
        let founded = match (look(wire, options).await?, options.opening) {
            (Some(founded), _) => founded,
            (None, Opening::Makes) => change(wire, options, &fresh(), Change::Make, "").await?,
            (None, Opening::Updates | Opening::Looks) => {
                return Err(absent(options, "there is no store yet, and none was to be made"));
            }
        };
        let (incarnation, keys) = (&founded.incarnation, Keys::new(&options.namespace, founded.partitions));
        let marks = match &founded.raised_from {
            Some(before) => mark(wire, &keys, incarnation, "raise", before).await?,
            None if founded.whole => in_each(wire, &keys, &LOOK_AT, &Args::default()).await?,
            None => mark(wire, &keys, incarnation, "make", "").await?,
        };
        if marks.iter().any(|mark| mark != incarnation) {
            if look(wire, options).await?.is_none_or(|now| now.incarnation != *incarnation) {
                continue;
            }
            // Partitions or the fixed parameters were lost, or an earlier renewal was interrupted.
            if !options.accept_loss {
                return Err(went_back());
            }
            let renewed = match founded.whole {
                true => change(wire, options, &fresh(), Change::Renew, incarnation).await?,
                false => founded,
            };
            // If this process dies here, the marks still differ, and the next one begins again.
            let renewed =
                change(wire, options, &renewed.incarnation, Change::Lost, &renewed.incarnation).await?;
            mark(wire, &keys, &renewed.incarnation, "replace", "").await?;
            continue;
        }
        if founded.format == FORMAT {
            return Ok(founded);
        }
        // Nothing is missing. From the next look on, the marks of the older version are replaced.
        change(wire, options, &fresh(), Change::Raise, incarnation).await?;
    }
    Err(absent(options, "others change it all the time"))
}

/// Records that creating or raising the store is finished.
pub(crate) async fn finished(wire: &Wire, options: &RedisOptions, incarnation: &str) -> Result<(), Fault> {
    change(wire, options, incarnation, Change::Whole, incarnation).await.map(drop)
}

/// Records that all indexes contain all sessions and pending calls, if the store still has this incarnation. Handles
/// that are opened from then on may rely on that.
pub(crate) async fn indexed(wire: &Wire, keys: &Keys, incarnation: &str) -> Result<(), Fault> {
    let args = Args::default().number(FORMAT).size(keys.partitions().len()).text(incarnation);
    let args = args.text(Change::Indexed.name()).text(incarnation);
    wire.run(&FOUND, &[&keys.of_store()], &args).await.map(drop)
}

/// Returns why an open store has another incarnation: a newer version has raised it, or it went back in time, as
/// `fault` says.
pub(crate) async fn why_changed(wire: &Wire, keys: &Keys, fault: Fault) -> Fault {
    let looked = wire.run(&LOOK, &[&keys.of_store()], &Args::default()).await;
    let format = looked.and_then(Reply::new).and_then(|mut fields| fields.number());
    match format {
        Ok(format) if format > FORMAT => newer(format),
        Ok(_) | Err(_) => fault,
    }
}

/// Reads the fixed parameters of the store, if there is one.
async fn look(wire: &Wire, options: &RedisOptions) -> Result<Option<Founded>, Fault> {
    let answer = wire.run(&LOOK, &[&Keys::meta(&options.namespace)], &Args::default()).await?;
    if let redis::Value::Array(fields) = &answer
        && fields.first() == Some(&redis::Value::Nil)
    {
        return Ok(None);
    }
    Ok(Some(read(answer, options)?))
}

/// Changes the fixed parameters, if there are none or the incarnation is still the one that was seen. Returns the
/// parameters that are stored then.
async fn change(
    wire: &Wire,
    options: &RedisOptions,
    incarnation: &str,
    change: Change,
    seen: &str,
) -> Result<Founded, Fault> {
    let usual = if options.cluster {
        RedisOptions::PARTITIONS_IN_A_CLUSTER
    } else {
        RedisOptions::PARTITIONS_ON_ONE_SERVER
    };
    let partitions = options.partitions.unwrap_or(usual);
    let args =
        Args::default().number(FORMAT).number(partitions).text(incarnation).text(change.name()).text(seen);
    read(wire.run(&FOUND, &[&Keys::meta(&options.namespace)], &args).await?, options)
}

fn newer(format: u64) -> Fault {
    Fault::Newer(format!("format {format}, this version reads {FORMAT}"))
}

fn read(answer: redis::Value, options: &RedisOptions) -> Result<Founded, Fault> {
    let mut fields = Reply::new(answer)?;
    let format = fields.number()?;
    if format > FORMAT {
        return Err(newer(format));
    }
    let stored = fields.number()?;
    let partitions = u16::try_from(stored).ok().filter(|partitions| *partitions > 0);
    let partitions = partitions.ok_or_else(|| Fault::Corrupt(format!("partitions: {stored}")))?;
    if let Some(asked) = options.partitions.filter(|asked| *asked != partitions) {
        let detail = format!("partitions: the store was made with {partitions}, {asked} were asked for");
        return Err(Fault::Invalid(detail));
    }
    Ok(Founded {
        format,
        partitions,
        incarnation: fields.text()?,
        whole: fields.boolean()?,
        raised_from: fields.optional_text()?,
        has_all_lives: fields.optional_text()?.is_some(),
        has_all_labels: fields.optional_text()?.is_some(),
        has_all_kinds: fields.optional_text()?.is_some(),
    })
}

/// Returns true if every partition carries the mark of this store.
async fn is_whole(wire: &Wire, keys: &Keys, incarnation: &str) -> Result<bool, Fault> {
    let marks = in_each(wire, keys, &LOOK_AT, &Args::default()).await?;
    Ok(marks.iter().all(|found| found == incarnation))
}

async fn mark(
    wire: &Wire,
    keys: &Keys,
    incarnation: &str,
    what: &str,
    seen: &str,
) -> Result<Vec<String>, Fault> {
    in_each(wire, keys, &MARK, &Args::default().text(incarnation).text(what).text(seen)).await
}

/// Runs a script on the mark of each partition, and returns the answers.
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
