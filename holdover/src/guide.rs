//! The guide for embedding. Each module is one page about one topic and contains no items.
//!
//! The guide begins with [a whole service](crate), which lists the pages in the order in which a service needs
//! them.

// The types to which the pages link.
#[cfg(doc)]
use crate::{
    agent::*, events::*, gates::*, hooks::*, model::*, pending::*, runtime::*, session::*, store::*,
    tools::*, *,
};

#[doc = include_str!("docs/guide/effects.md")]
pub mod effects {}
#[doc = include_str!("docs/guide/custom_state.md")]
pub mod custom_state {}
#[doc = include_str!("docs/guide/prompts.md")]
pub mod prompts {}
#[doc = include_str!("docs/guide/skills.md")]
pub mod skills {}
#[doc = include_str!("docs/guide/mcp_servers.md")]
pub mod mcp_servers {}
#[doc = include_str!("docs/guide/permissions.md")]
pub mod permissions {}
#[doc = include_str!("docs/guide/approvals.md")]
pub mod approvals {}
#[doc = include_str!("docs/guide/hooks.md")]
pub mod hooks {}
#[doc = include_str!("docs/guide/sub_agents.md")]
pub mod sub_agents {}
#[doc = include_str!("docs/guide/messages.md")]
pub mod messages {}
#[doc = include_str!("docs/guide/stopping.md")]
pub mod stopping {}
#[doc = include_str!("docs/guide/limits.md")]
pub mod limits {}
#[doc = include_str!("docs/guide/outputs.md")]
pub mod outputs {}
#[doc = include_str!("docs/guide/failures.md")]
pub mod failures {}
#[doc = include_str!("docs/guide/in_doubt.md")]
pub mod in_doubt {}
#[doc = include_str!("docs/guide/long_sessions.md")]
pub mod long_sessions {}
#[doc = include_str!("docs/guide/sandboxes.md")]
pub mod sandboxes {}
#[doc = include_str!("docs/guide/workers.md")]
pub mod workers {}
#[doc = include_str!("docs/guide/following.md")]
pub mod following {}
#[doc = include_str!("docs/guide/finding.md")]
pub mod finding {}
#[doc = include_str!("docs/guide/branches.md")]
pub mod branches {}
#[doc = include_str!("docs/guide/versions.md")]
pub mod versions {}
#[doc = include_str!("docs/guide/encryption.md")]
pub mod encryption {}
#[doc = include_str!("docs/guide/postgres.md")]
pub mod postgres {}
#[doc = include_str!("docs/guide/backup.md")]
pub mod backup {}
#[doc = include_str!("docs/guide/testing.md")]
pub mod testing {}
#[doc = include_str!("docs/guide/own_model.md")]
pub mod own_model {}
#[doc = include_str!("docs/guide/machine.md")]
pub mod machine {}
