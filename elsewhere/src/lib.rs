//! Tasks between programs over HTTP: agents of one program work for agents of another.
//!
//! [`HttpElsewhere`] is the client for the program that gives tasks. It also sends the outcomes of tasks to other
//! programs. [`router`] serves the program that accepts tasks. It also receives the outcomes of the tasks that this
//! program gave.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /agents/{agent}/tasks` | a `RemoteTask` | a `TaskStanding` |
//! | `GET /agents/{agent}/tasks/{id}` | | a `TaskStanding`, or 410 |
//! | `DELETE /agents/{agent}/tasks/{id}` | | 204 |
//! | `POST /outcomes/{token}` | `{ "id": "…", "outcome": { "ok": true, "text": "…" } }` | 200, or 410 |
//!
//! A task is `{ "id": "…", "task": "…", "limits": { … }, "reply_to": "…" }`; `limits` and `reply_to` are optional. A
//! standing is `{ "task": "open" }` or `{ "task": "ended", "ok": true, "text": "…", "usage": { … } }`; `usage` is
//! optional. Unknown fields are ignored. Every request may be repeated. Errors are problems as RFC 9457 defines them.
//!
//! **Trust.** A caller acts as a tenant, which its bearer token identifies, and sees only the tasks of this tenant. An
//! outcome comes without a bearer token: its address is signed with the token that was sent with the task, so only the
//! two programs that know this token can create the address. If the remote agent requires no token, the signature
//! proves nothing. Then the only proof is to know the address: it contains the id of the pending call, which contains a
//! random number. In a session that another program gave as a task, this number is a digest of the tenant, the agent
//! and the id of the task. Serve all routes over TLS.

#[cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, reason = "each half uses a part")
)]
mod address;
#[cfg(feature = "client")]
mod answer;
#[cfg(feature = "server")]
mod body;
#[cfg(feature = "server")]
mod callers;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod outcomes;
#[cfg(feature = "server")]
mod problem;
#[cfg(feature = "client")]
mod replies;
#[cfg(feature = "server")]
mod router;
#[cfg(feature = "server")]
mod tasks;
#[cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, reason = "each half uses a part")
)]
mod token;
#[cfg(feature = "client")]
mod url;
#[cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, reason = "each half uses a part")
)]
mod words;

#[cfg(feature = "client")]
pub use self::url::HttpElsewhereError;
#[cfg(feature = "server")]
pub use callers::{Callers, InvalidToken};
#[cfg(feature = "client")]
pub use client::{HttpElsewhere, REQUEST_TIMEOUT};
#[cfg(feature = "server")]
pub use router::router;
pub use words::BODY_BYTES_MAX;
