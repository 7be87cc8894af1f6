//! The tools of a warehouse.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdover::prelude::*;
use holdover::session::InvalidId;
use holdover::tools::{Access, ResourceProfile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An article.
// The model gets the doc comments of this type and of its fields as descriptions.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Article {
    /// Its number.
    article: u32,
}

/// A number of pieces of an article.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pieces {
    /// The article's number.
    article: u32,
    /// How many.
    #[schemars(range(min = 1, max = 100))]
    pieces: u32,
}

/// A parcel.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parcel {
    /// The article's number.
    article: u32,
    /// How many.
    #[schemars(range(min = 1, max = 100))]
    pieces: u32,
    /// Where it goes.
    to: Address,
}

/// An address.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Address {
    /// Street and number.
    street: String,
    /// The city.
    city: String,
}

/// The model's view of an article's stock.
#[derive(Debug, Serialize)]
struct Stock {
    article: u32,
    there: u32,
    reserved: u32,
}

/// A simulated warehouse.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warehouse(Arc<Mutex<Shelves>>);

#[derive(Debug, Default)]
struct Shelves {
    there: BTreeMap<u32, u32>,
    reserved: BTreeMap<u32, u32>,
    /// The idempotency keys of the reservations that were made.
    known: BTreeSet<String>,
}

impl Warehouse {
    /// Creates a warehouse with these numbers of pieces for each article.
    pub(crate) fn with<const N: usize>(articles: [(u32, u32); N]) -> Self {
        Self(Arc::new(Mutex::new(Shelves { there: articles.into(), ..Shelves::default() })))
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a tool that only reads: its calls run in parallel, and a lost call is repeated.
    pub(crate) fn stock(&self) -> Result<FunctionTool<Article>, InvalidId> {
        let look = |warehouse: Self, asked, _| async move { warehouse.look(asked) };
        let (name, what) = (ToolName::new("stock")?, "Tells how many of an article are there");
        Ok(FunctionTool::with(self.clone(), name, what, look)
            .effect(EffectClass::ReadOnly)
            .resources(|asked| shelf(asked.article, Access::Read)))
    }

    /// Returns a tool whose calls may be sent twice: the second send changes nothing, because its idempotency key is
    /// known.
    pub(crate) fn reserve(&self) -> Result<FunctionTool<Pieces>, InvalidId> {
        let put_aside = |warehouse: Self, asked, call: ToolCall| async move {
            warehouse.put_aside(asked, call.idempotency_key)
        };
        let (name, what) = (ToolName::new("reserve")?, "Puts pieces of an article aside");
        Ok(FunctionTool::with(self.clone(), name, what, put_aside)
            .effect(EffectClass::Idempotent)
            .resources(|asked| shelf(asked.article, Access::Write)))
    }

    /// Returns a tool whose calls are never sent twice.
    pub(crate) fn ship(&self) -> Result<FunctionTool<Parcel>, InvalidId> {
        let send = |warehouse: Self, asked: Parcel, _| async move { warehouse.send(&asked) };
        let (name, what) = (ToolName::new("ship")?, "Sends pieces that were put aside");
        Ok(FunctionTool::with(self.clone(), name, what, send)
            .effect(EffectClass::AtMostOnce)
            .timeout(Duration::from_secs(10))
            .resources(|asked| shelf(asked.article, Access::Write)))
    }

    fn look(&self, Article { article }: Article) -> Result<ToolOutput, ToolError> {
        let shelves = self.shelves();
        let there = shelves.there.get(&article).copied().ok_or_else(|| no_such(article))?;
        let reserved = shelves.reserved.get(&article).copied().unwrap_or_default();
        ToolOutput::json(&Stock { article, there, reserved })
    }

    fn put_aside(&self, Pieces { article, pieces }: Pieces, key: String) -> Result<ToolOutput, ToolError> {
        let mut shelves = self.shelves();
        if shelves.known.contains(&key) {
            return Ok(ToolOutput::text(format!("{pieces} are put aside already")));
        }
        let there = shelves.there.get_mut(&article).ok_or_else(|| no_such(article))?;
        *there = there
            .checked_sub(pieces)
            .ok_or_else(|| ToolError::Failed(format!("there are only {there} of article {article}")))?;
        *shelves.reserved.entry(article).or_default() += pieces;
        shelves.known.insert(key);
        Ok(ToolOutput::text(format!("{pieces} are put aside")))
    }

    fn send(&self, Parcel { article, pieces, to }: &Parcel) -> Result<ToolOutput, ToolError> {
        let mut shelves = self.shelves();
        let reserved = shelves.reserved.entry(*article).or_default();
        *reserved = reserved.checked_sub(*pieces).ok_or_else(|| {
            ToolError::Failed(format!("only {reserved} of article {article} are put aside"))
        })?;
        Ok(ToolOutput::text(format!("sent to {}, {}", to.street, to.city)))
    }
}

fn shelf(article: u32, access: Access) -> ResourceProfile {
    ResourceProfile::key(format!("shelf:{article}"), access)
}

fn no_such(article: u32) -> ToolError {
    ToolError::Failed(format!("there is no article {article}"))
}
