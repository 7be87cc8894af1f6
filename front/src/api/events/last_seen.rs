//! The header with which a client goes on where it was.

use std::str::FromStr;

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::Operation;
use aide::operation::{ParamLocation, add_parameters, parameters_from_schema};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Problem;

/// The cursor that a client sends when it connects again.
pub(super) struct LastSeen<C>(pub(super) Option<C>);

const LAST_SEEN: &str = "last-event-id";

impl<S: Send + Sync, C: FromStr> FromRequestParts<S> for LastSeen<C> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(id) = parts.headers.get(LAST_SEEN) else { return Ok(Self(None)) };
        let cursor = id.to_str().ok().and_then(|id| id.parse().ok());
        cursor.map(|cursor| Self(Some(cursor))).ok_or_else(|| Problem::invalid("Last-Event-ID: is no cursor"))
    }
}

/// The header, as the description shows it.
#[derive(Deserialize, JsonSchema)]
struct Header {
    /// The id of the last event that was read. Clients send it by themselves when they connect again.
    #[serde(rename = "Last-Event-ID")]
    _id: Option<String>,
}

impl<C> OperationInput for LastSeen<C> {
    fn operation_input(ctx: &mut GenContext, operation: &mut Operation) {
        let schema = ctx.schema.subschema_for::<Header>();
        let parameters = parameters_from_schema(ctx, schema, ParamLocation::Header);
        add_parameters(ctx, operation, parameters);
    }
}
