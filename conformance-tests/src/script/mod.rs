//! Scripts: operations on a few sessions. Their words have a meaning anywhere in a script, so that a script stays valid
//! when operations are removed from it.

mod answer;
mod cover;
mod coverage;
mod draw;
mod improvise;
mod list;
mod play;
mod request;
mod resolve;
mod words;

pub(crate) use holdover_store::Request;

pub(crate) use answer::Answer;
pub(crate) use cover::{cover, runner, strategy};
pub(crate) use coverage::{Coverage, Reached};
use draw::Scripts;
pub(crate) use improvise::Improviser;
pub(crate) use list::{List, list};
pub(crate) use play::{LEASE, Play, Powers};
pub(crate) use request::Asking;
pub(crate) use words::*;

/// Operations, each with the handle that requests it.
pub(crate) type Script = List<(By, Op)>;
