//! Which hosts and origins requests may name: no DNS rebinding, and no requests of pages of other sites.

use std::net::IpAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower_http::cors::CorsLayer;

use crate::problem::Problem;

/// The names under which requests may reach the front, and the sites whose pages may send them.
///
/// A request whose `Host` header names something else is refused: a page in a browser could otherwise send requests to a
/// private address by having its own name resolved to that address. A request whose `Origin` header names another site than
/// `Host` does is refused, too, unless the origin is listed; then the answers have the headers that let the browser hand
/// them to the page (CORS).
#[derive(Debug, Clone, Default)]
pub struct Guard {
    any_host: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// The error for a text that is no origin, such as `https://app.example`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no origin, such as https://app.example")]
pub struct InvalidOrigin(String);

impl Guard {
    /// Allows only requests that name this machine: `localhost` or a loopback address, with any port.
    pub fn this_machine() -> Self {
        Self::default()
    }

    /// Allows requests that name any host, for servers whose callers always send a token. Origins are checked.
    pub fn any_host() -> Self {
        Self { any_host: true, ..Self::default() }
    }

    /// Allows requests that name this host, too, with any port.
    #[must_use]
    pub fn host(mut self, name: &str) -> Self {
        self.hosts.push(name_of(name).to_owned());
        self
    }

    /// Allows requests of the pages of this site, such as `https://app.example`.
    ///
    /// # Errors
    /// The text is no origin.
    pub fn origin(mut self, origin: &str) -> Result<Self, InvalidOrigin> {
        let invalid = || InvalidOrigin(origin.to_owned());
        let (scheme, authority) = origin.split_once("://").ok_or_else(invalid)?;
        let plain = !authority.is_empty() && !authority.contains(['/', '?', '#', '@', ' ', '*']);
        if !plain || !matches!(scheme, "http" | "https") {
            return Err(invalid());
        }
        // Browsers write origins in lower case.
        let origin = origin.to_ascii_lowercase();
        HeaderValue::from_str(&origin).map_err(|_| invalid())?;
        self.origins.push(origin);
        Ok(self)
    }

    /// Guards all routes of a router.
    ///
    /// ```
    /// use holdover_front::Guard;
    ///
    /// # fn guarded(app: axum::Router) -> Result<axum::Router, Box<dyn std::error::Error>> {
    /// let guard = Guard::this_machine().host("agents.example").origin("https://app.example")?;
    /// Ok(guard.layer(app))
    /// # }
    /// ```
    pub fn layer(self, router: Router) -> Router {
        let cors = CorsLayer::new()
            .allow_origin(
                self.origins.iter().filter_map(|origin| origin.parse().ok()).collect::<Vec<HeaderValue>>(),
            )
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
            .allow_headers([
                AUTHORIZATION,
                CONTENT_TYPE,
                HeaderName::from_static("idempotency-key"),
                HeaderName::from_static("last-event-id"),
                HeaderName::from_static("mcp-method"),
                HeaderName::from_static("mcp-name"),
                HeaderName::from_static("mcp-protocol-version"),
            ]);
        let router = if self.origins.is_empty() { router } else { router.layer(cors) };
        router.layer(from_fn_with_state(self, check))
    }

    fn allows_host(&self, host: &str) -> bool {
        let name = name_of(host);
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        self.any_host
            || name.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.is_loopback())
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    fn allows_origin(&self, headers: &HeaderMap, host: &str) -> bool {
        let Some(origin) = headers.get(ORIGIN) else { return true };
        let Ok(origin) = origin.to_str() else { return false };
        let site = origin.split_once("://").map(|(_, site)| site);
        self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
            || site.is_some_and(|site| site.eq_ignore_ascii_case(host))
    }
}

/// Returns the host that a request names: in its target, as proxies get it and HTTP/2 has it, or in its only `Host` header. A
/// request that names two is refused.
fn host_of(request: &Request) -> Option<&str> {
    let mut headers = request.headers().get_all(HOST).iter();
    let (named, second) = (headers.next(), headers.next());
    let named = named.map(|host| host.to_str()).transpose().ok()?;
    let target = request.uri().authority().map(|authority| authority.as_str());
    match (target, named) {
        _ if second.is_some() => None,
        (Some(target), Some(named)) if !target.eq_ignore_ascii_case(named) => None,
        (target, named) => target.or(named),
    }
}

/// Returns a host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let refused = |code, detail| Problem::new(StatusCode::FORBIDDEN, code, detail).into_response();
    let Some(host) = host_of(&request).filter(|host| guard.allows_host(host)) else {
        return refused("other_host", "Host: the request names a host that is not served here");
    };
    if !guard.allows_origin(request.headers(), host) {
        return refused("other_origin", "Origin: pages of this site may not send requests");
    }
    next.run(request).await
}
