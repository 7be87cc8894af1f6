//! A link for the person at the terminal of a server: whoever opens it first gets a token.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, REFERRER_POLICY};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use holdover_core::payload::Digest;
use uuid::Uuid;

use super::{Caller, NoTokens, Tokens};
use crate::problem::Problem;

/// A link that gives a token once, for a server that only programs of its machine reach. The token is kept nowhere, and holds
/// until the process ends. Other tokens are looked up elsewhere.
pub struct OneTimeLink {
    caller: Caller,
    others: Arc<dyn Tokens>,
    /// The digests of random texts tell nothing, and neither does the time of their comparison.
    code: Digest,
    token: Digest,
    left: Mutex<Option<String>>,
}

impl OneTimeLink {
    /// Makes a link for this caller. Returns it with its path, which is to be shown to the caller alone.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use holdover_core::ids::TenantId;
    /// use holdover_front::{Access, Caller, OneTimeLink, Tokens};
    ///
    /// # fn linked(tokens: Arc<dyn Tokens>) -> Result<(), Box<dyn std::error::Error>> {
    /// let me = Caller::of(TenantId::new("default")?).named("ann");
    /// let (link, path) = OneTimeLink::new(me, tokens);
    /// println!("open http://127.0.0.1:8420{path}");
    /// let routes = Arc::clone(&link).router();
    /// let access = Access::Tokens(link);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(caller: Caller, others: Arc<dyn Tokens>) -> (Arc<Self>, String) {
        let random = || format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let (code, token) = (random(), format!("once_{}", random()));
        let link = Self {
            caller,
            others,
            code: Digest::of(code.as_bytes()),
            token: Digest::of(token.as_bytes()),
            left: Mutex::new(Some(token)),
        };
        (Arc::new(link), format!("/link/{code}"))
    }

    /// Returns the route of the link. Its answer is the token, as text.
    pub fn router(self: Arc<Self>) -> Router {
        Router::new().route("/link/{code}", get(open)).with_state(self)
    }
}

async fn open(State(link): State<Arc<OneTimeLink>>, method: Method, Path(code): Path<String>) -> Response {
    if Digest::of(code.as_bytes()) != link.code {
        return Problem::not_found("no_path", "there is no such path").into_response();
    }
    // A request for the head alone does not get the token, so it does not use the link up.
    let token = match method {
        Method::GET => link.left.lock().unwrap_or_else(PoisonError::into_inner).take(),
        _ => Some(String::new()),
    };
    match token {
        Some(token) => {
            ([(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer")], format!("{token}\n"))
                .into_response()
        }
        None => {
            let detail = "the link was opened before; start the server again, or make a token";
            Problem::new(StatusCode::GONE, "link_used", detail).into_response()
        }
    }
}

#[async_trait]
impl Tokens for OneTimeLink {
    async fn caller(&self, token: &str) -> Result<Option<Caller>, NoTokens> {
        if Digest::of(token.as_bytes()) == self.token {
            return Ok(Some(self.caller.clone()));
        }
        self.others.caller(token).await
    }
}
