//! Who may do what.

mod link;
mod stored;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::{Operation, Response, StatusCode as Status};
use async_trait::async_trait;
use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use holdover_core::ids::TenantId;
use holdover_runtime_local::BREAKER_TENANT;

pub use self::link::OneTimeLink;
pub use self::stored::{StoredTokens, TokenError, TokenInfo};
use crate::desk::Desk;
use crate::problem::{Problem, responses};
use crate::seats::Seat;

/// The name of the security scheme in the description of the API.
pub(crate) const SCHEME: &str = "bearer";

/// A permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum May {
    /// To see sessions, their messages, events and pending calls.
    Read,
    /// To start sessions, send messages and signals, answer client tools, and stop, continue or branch a turn.
    Send,
    /// To decide on calls that wait for approval, and to settle calls in doubt.
    Decide,
    /// To abort and delete sessions, and to replay dead letters.
    Operate,
}

impl May {
    /// Every permission.
    pub const ALL: [Self; 4] = [Self::Read, Self::Send, Self::Decide, Self::Operate];

    /// Returns the name of the permission, such as `read`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Send => "send",
            Self::Decide => "decide",
            Self::Operate => "operate",
        }
    }
}

/// The error for a word that names no permission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no permission; there are read, send, decide and operate")]
pub struct UnknownMay(String);

impl FromStr for May {
    type Err = UnknownMay;

    fn from_str(text: &str) -> Result<Self, UnknownMay> {
        let named = Self::ALL.into_iter().find(|may| may.as_str() == text);
        named.ok_or_else(|| UnknownMay(text.to_owned()))
    }
}

/// The person or program that sends requests. A caller acts as one tenant, and sees only the sessions of this tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    tenant: TenantId,
    name: Option<String>,
    may: BTreeSet<May>,
}

impl Caller {
    /// Creates a caller without a name, who may do everything.
    ///
    /// ```
    /// use holdover_core::ids::TenantId;
    /// use holdover_front::{Caller, May};
    ///
    /// let ann = Caller::of(TenantId::new("acme")?).named("ann").only([May::Read, May::Decide]);
    /// assert!(ann.may(May::Decide) && !ann.may(May::Send));
    /// # Ok::<(), holdover_core::ids::InvalidId>(())
    /// ```
    pub fn of(tenant: TenantId) -> Self {
        Self { tenant, name: None, may: May::ALL.into() }
    }

    /// Sets the name. Decisions and corrections of the caller record it, and a request cannot claim another one.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Limits the caller to these permissions.
    #[must_use]
    pub fn only(self, may: impl IntoIterator<Item = May>) -> Self {
        Self { may: may.into_iter().collect(), ..self }
    }

    /// Returns the tenant.
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Returns the name, if there is one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns true if the caller has this permission.
    pub fn may(&self, may: May) -> bool {
        self.may.contains(&may)
    }

    /// Refuses a caller without this permission.
    pub(crate) fn needs(&self, may: May) -> Result<(), Problem> {
        if self.may(may) { Ok(()) } else { Err(Problem::forbidden(may.as_str())) }
    }
}

/// Finds the caller of a bearer token.
#[async_trait]
pub trait Tokens: Send + Sync + 'static {
    /// Returns the caller to whom this token was given, or `None` if the token is unknown, has expired or was revoked.
    /// Called for each request. The answer must not depend on anything but the token.
    async fn caller(&self, token: &str) -> Result<Option<Caller>, NoTokens>;
}

/// The error for tokens that cannot be looked up now. Its text goes to the log, not to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tokens: {0}")]
pub struct NoTokens(pub String);

/// The way in which the front learns who sends a request.
#[derive(Clone)]
#[non_exhaustive]
pub enum Access {
    /// A layer of the service in front of the router inserts a [`Caller`] into the extensions of each request. Requests
    /// without one are refused.
    Given,
    /// Whoever reaches the router is this caller. Use it only where the network, or a proxy in front, controls access.
    Anyone(Caller),
    /// Each request has a bearer token.
    Tokens(Arc<dyn Tokens>),
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given => f.write_str("Given"),
            Self::Anyone(caller) => f.debug_tuple("Anyone").field(caller).finish(),
            Self::Tokens(_) => f.write_str("Tokens"),
        }
    }
}

impl Access {
    /// Returns the caller of a request, or the problem for a request without one.
    pub(crate) async fn caller(&self, parts: &Parts) -> Result<Caller, Problem> {
        let found = match self {
            Self::Given => parts.extensions.get::<Caller>().cloned(),
            Self::Anyone(caller) => Some(caller.clone()),
            Self::Tokens(tokens) => match bearer(&parts.headers) {
                Some(token) => tokens.caller(token).await.map_err(|error| {
                    tracing::warn!(%error, "a request is put off");
                    Problem::unavailable("tokens cannot be looked up now; try again later")
                })?,
                None => None,
            },
        };
        // The tenant of the engine's records has no callers.
        let found = found.filter(|caller| caller.tenant.as_str() != BREAKER_TENANT);
        found.ok_or_else(Problem::unauthorized)
    }

    /// Returns true if the token still gives this permission, or cannot be looked up now.
    pub(crate) async fn still_allows(&self, held: &Held, may: May) -> bool {
        match (self, &held.0) {
            (Self::Tokens(tokens), Some(token)) => match tokens.caller(token).await {
                Ok(caller) => caller.is_some_and(|caller| caller.may(may)),
                Err(error) => {
                    tracing::warn!(%error, "a stream goes on although its token was not looked up");
                    true
                }
            },
            (Self::Tokens(_), None) => false,
            (Self::Given | Self::Anyone(_), _) => true,
        }
    }
}

/// The bearer token of a request, to look it up again while a stream is open.
#[derive(Clone)]
pub(crate) struct Held(Option<String>);

impl Held {
    /// Returns the token of a request with these headers.
    #[cfg(feature = "mcp")]
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self(bearer(headers).map(str::to_owned))
    }

    /// Returns no token, for callers who are known without one.
    #[cfg(feature = "mcp")]
    pub(crate) fn nothing() -> Self {
        Self(None)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Held {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(bearer(&parts.headers).map(str::to_owned)))
    }
}

impl OperationInput for Held {}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
}

/// A permission that a route needs, as a type.
pub(crate) trait Needs: Send + Sync + 'static {
    const MAY: May;
}

macro_rules! needs {
    ($($name:ident => $may:ident),*) => {
        $(
            pub(crate) struct $name;

            impl Needs for $name {
                const MAY: May = May::$may;
            }
        )*
    };
}

needs!(ToRead => Read, ToSend => Send, ToDecide => Decide, ToOperate => Operate);

/// The caller of a request, who has the permission that the route needs. Every route takes one, so none can forget to ask.
pub(crate) struct By<N>(
    pub(crate) Caller,
    #[expect(dead_code, reason = "it is held until the request is answered")] pub(crate) Request<N>,
);

/// The request of a caller. It counts until this is dropped.
pub(crate) struct Request<N> {
    _seat: Seat,
    needs: PhantomData<N>,
}

impl<N: Needs> FromRequestParts<Arc<Desk>> for By<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Problem> {
        let caller = desk.access.caller(parts).await?;
        caller.needs(N::MAY)?;
        let seat = desk.requests.open(&caller)?;
        Ok(Self(caller, Request { _seat: seat, needs: PhantomData }))
    }
}

impl<N: Needs> OperationInput for By<N> {
    fn operation_input(_: &mut GenContext, operation: &mut Operation) {
        operation.security =
            vec![[(SCHEME.to_owned(), vec![N::MAY.as_str().to_owned()])].into_iter().collect()];
    }

    fn inferred_early_responses(ctx: &mut GenContext, _: &mut Operation) -> Vec<(Option<Status>, Response)> {
        responses(ctx, &[StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN])
    }
}
