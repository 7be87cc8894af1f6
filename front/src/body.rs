//! The parts of requests. A part that is not valid gets a problem of one line.

use std::time::Duration;

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::{Operation, Response, StatusCode as Status};
use aide::operation::{ParamLocation, add_parameters, parameters_from_schema};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use holdover_core::ids::ItemKey;
use holdover_core::store::Labels;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::problem::{Problem, responses};

/// The time within which a caller must send the whole body of a request.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(20);

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match timeout(BODY_TIME, Json::from_request(request, state)).await {
            Ok(Ok(Json(body))) => Ok(Self(body)),
            Ok(Err(refused)) => Err(Problem::new(refused.status(), code_of(&refused), refused.body_text())),
            Err(_) => Err(Problem::too_slow(BODY_TIME)),
        }
    }
}

fn code_of(refused: &JsonRejection) -> &'static str {
    match refused.status() {
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "not_json",
        _ => "invalid",
    }
}

impl<T: JsonSchema> OperationInput for Body<T> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Json::<T>::operation_input(ctx, operation);
    }

    fn inferred_early_responses(ctx: &mut GenContext, _: &mut Operation) -> Vec<(Option<Status>, Response)> {
        responses(ctx, &[StatusCode::PAYLOAD_TOO_LARGE, StatusCode::UNPROCESSABLE_ENTITY])
    }
}

/// The parameters in the path.
pub(crate) struct In<P>(pub(crate) P);

impl<S: Send + Sync, P: DeserializeOwned + Send> FromRequestParts<S> for In<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(path)) => Ok(Self(path)),
            Err(refused) => Err(Problem::new(refused.status(), "invalid", refused.body_text())),
        }
    }
}

impl<P: JsonSchema> OperationInput for In<P> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Path::<P>::operation_input(ctx, operation);
    }
}

/// The parameters of the query.
pub(crate) struct Asked<Q>(pub(crate) Q);

impl<S: Send + Sync, Q: DeserializeOwned> FromRequestParts<S> for Asked<Q> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        serde_qs::from_str(query).map(Self).map_err(|why| Problem::invalid(format!("query: {why}")))
    }
}

impl<Q: JsonSchema> OperationInput for Asked<Q> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        Query::<Q>::operation_input(ctx, operation);
    }
}

/// Refuses labels that the engine sets itself.
pub(crate) fn check_labels(labels: &Labels) -> Result<(), Problem> {
    const OF_THE_ENGINE: [&str; 8] = [
        Labels::AGENT,
        Labels::AGENT_VERSION,
        Labels::PROGRAM,
        Labels::FORKED_FROM,
        Labels::PARENT,
        Labels::ROOT,
        Labels::TASK,
        Labels::SCHEDULE,
    ];
    match OF_THE_ENGINE.into_iter().find(|name| labels.0.contains_key(*name)) {
        Some(name) => Err(Problem::invalid(format!("labels: {name}: the engine sets it"))),
        None => Ok(()),
    }
}

/// The key of a request, under which it is carried out at most once, however often it is repeated.
pub(crate) struct Once(pub(crate) Option<ItemKey>);

const KEY: &str = "idempotency-key";

impl<S: Send + Sync> FromRequestParts<S> for Once {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(key) = parts.headers.get(KEY) else { return Ok(Self(None)) };
        let key =
            str::from_utf8(key.as_bytes()).map_err(|_| Problem::invalid("Idempotency-Key: is no UTF-8"))?;
        let key = ItemKey::new(key).map_err(|why| Problem::invalid(format!("Idempotency-Key: {why}")))?;
        Ok(Self(Some(key)))
    }
}

/// The header, as the description shows it.
#[derive(Deserialize, JsonSchema)]
struct Header {
    /// At most one request is carried out under this key. A repeat gets the same answer, with the status 200.
    #[serde(rename = "Idempotency-Key")]
    _key: Option<String>,
}

impl OperationInput for Once {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let schema = ctx.schema.subschema_for::<Header>();
        let parameters = parameters_from_schema(ctx, schema, ParamLocation::Header);
        add_parameters(ctx, operation, parameters);
    }
}
