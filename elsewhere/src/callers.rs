//! The callers that may give tasks: a tenant for each bearer token.

use std::fmt;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use hmac::{Hmac, KeyInit, Mac};
use holdover_core::ids::TenantId;
use sha2::Sha256;

use crate::problem::Problem;
use crate::router::Desk;

/// The programs that may give tasks to the agents here. A program acts as a tenant, and sees only the tasks of this
/// tenant.
pub struct Callers(Known);

enum Known {
    /// The digests of the tokens. The tokens themselves are not kept.
    Tokens(Vec<(Vec<u8>, TenantId)>),
    Anyone(TenantId),
}

/// The error for a bearer token that cannot be used. It does not show the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidToken {
    /// The token is empty, or has white space or characters that are not visible ASCII.
    #[error("tokens: the token of tenant {0} is no visible ASCII text")]
    NotVisible(TenantId),
    /// The token was given before. A token belongs to one tenant.
    #[error("tokens: the token of tenant {0} is given twice")]
    Twice(TenantId),
}

impl Callers {
    /// Allows programs with one of these bearer tokens. Each token identifies a tenant. A tenant may have several
    /// tokens, for example while one is replaced.
    pub fn with_tokens(
        tokens: impl IntoIterator<Item = (impl AsRef<str>, TenantId)>,
    ) -> Result<Self, InvalidToken> {
        let mut known: Vec<(Vec<u8>, TenantId)> = Vec::new();
        for (token, tenant) in tokens {
            let token = token.as_ref();
            if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(InvalidToken::NotVisible(tenant));
            }
            let digest = digest_of(token.as_bytes());
            let Some(digest) = digest.map(|digest| digest.finalize().into_bytes().to_vec()) else { continue };
            if known.iter().any(|(other, _)| *other == digest) {
                return Err(InvalidToken::Twice(tenant));
            }
            known.push((digest, tenant));
        }
        Ok(Self(Known::Tokens(known)))
    }

    /// Allows no program. The router then accepts only outcomes of tasks that this program gave.
    pub fn nobody() -> Self {
        Self(Known::Tokens(Vec::new()))
    }

    /// Allows any program that can reach the router, without a token, as this tenant. Use it only where the network, or
    /// a proxy in front, controls access.
    pub fn anyone(tenant: TenantId) -> Self {
        Self(Known::Anyone(tenant))
    }

    /// Returns the tenant of a request, or `None` if its token is missing or unknown.
    fn tenant(&self, headers: &HeaderMap) -> Option<&TenantId> {
        let tokens = match &self.0 {
            Known::Anyone(tenant) => return Some(tenant),
            Known::Tokens(tokens) => tokens,
        };
        let digest = digest_of(bearer(headers)?)?;
        // All tokens are compared, so the time does not reveal which one matched.
        let mut found = None;
        for (known, tenant) in tokens {
            if digest.clone().verify_slice(known).is_ok() {
                found = Some(tenant);
            }
        }
        found
    }
}

impl fmt::Debug for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Known::Tokens(tokens) => write!(f, "Callers({} tokens)", tokens.len()),
            Known::Anyone(tenant) => write!(f, "Callers(anyone, as {tenant})"),
        }
    }
}

/// The tenant that sent a request.
pub(crate) struct Caller(pub(crate) TenantId);

impl FromRequestParts<Arc<Desk>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Problem> {
        let tenant = desk.callers.tenant(&parts.headers).cloned();
        tenant.map(Self).ok_or_else(|| {
            Problem::new(StatusCode::UNAUTHORIZED, "send a bearer token that this program knows")
        })
    }
}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

/// Returns the digest of a token, for a comparison in constant time.
fn digest_of(token: &[u8]) -> Option<Hmac<Sha256>> {
    let mut digest = Hmac::<Sha256>::new_from_slice(b"holdover bearer token").ok()?;
    digest.update(token);
    Some(digest)
}
