//! The description of the API, in OpenAPI 3.1.

mod schemas;
mod streams;
mod texts;

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::openapi::{License, OpenApi, SecurityScheme, Server, Tag};
use aide::transform::TransformOpenApi;
use axum::Router;
use serde_json::{Map, Value};

pub(crate) use self::streams::{answers_with_a_stream, answers_with_a_stream_of};
#[cfg(feature = "mcp")]
pub(crate) use self::texts::tidy;
use crate::access::SCHEME;
use crate::desk::Desk;
use crate::router::routes;

/// The groups of operations.
const TAGS: [(&str, &str); 10] = [
    ("agents", "The agents with which sessions can be started."),
    ("sessions", "Sessions: start, list, show, delete."),
    ("messages", "The transcript, new messages, and those that no turn has taken yet."),
    ("pending", "Calls that wait for a person, or for a program of the caller."),
    ("events", "What happens in a session, while it happens."),
    ("turns", "Stops and continues turns."),
    ("branches", "Checkpoints, forks and handoffs."),
    ("chat", "Pages that use the AI SDK, such as useChat."),
    ("ag-ui", "Pages that speak AG-UI."),
    ("operation", "For those who operate the service."),
];

const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// Returns the description of the API, in OpenAPI 3.1. The router serves it as `/openapi.json`.
pub fn openapi() -> Value {
    described(routes()).1
}

/// Returns the routes with their description.
pub(crate) fn described(routes: ApiRouter<Arc<Desk>>) -> (Router<Arc<Desk>>, Value) {
    let mut document = OpenApi::default();
    let routes = routes.finish_api_with(&mut document, whole);
    let mut document = serde_json::to_value(document).unwrap_or_default();
    texts::tidy(&mut document);
    schemas::rewrite(&mut document);
    let schemas = document["components"]["schemas"].clone();
    each_operation(&mut document, |operation| {
        // Without this, an operation that needs no token would leave open whether it needs one.
        operation.entry("security").or_insert_with(|| Value::Array(Vec::new()));
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        let parameters = parameters.into_iter().flatten().filter_map(Value::as_object_mut);
        parameters.for_each(|parameter| set_style(parameter, &schemas));
    });
    prune(&mut document);
    (routes, document)
}

fn whole(document: TransformOpenApi<'_>) -> TransformOpenApi<'_> {
    let tag = |(name, description): (&str, &str)| Tag {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        ..Tag::default()
    };
    let document = TAGS.map(tag).into_iter().fold(document, TransformOpenApi::tag);
    document
        .title("Holdover")
        .version(env!("CARGO_PKG_VERSION"))
        .description(
            "Sessions of agents that survive restarts. Times are milliseconds since 1970-01-01T00:00:00Z.",
        )
        .license(License {
            name: LICENSE.to_owned(),
            identifier: Some(LICENSE.to_owned()),
            ..License::default()
        })
        .server(Server {
            url: ".".to_owned(),
            description: Some(
                "The server that gave this description, at the path below which it serves.".to_owned(),
            ),
            ..Server::default()
        })
        .security_scheme(
            SCHEME,
            SecurityScheme::Http {
                scheme: "bearer".to_owned(),
                bearer_format: None,
                description: Some("A token, with the permissions that each operation names.".to_owned()),
                extensions: Default::default(),
            },
        )
}

fn each_operation(document: &mut Value, change: impl FnMut(&mut Map<String, Value>)) {
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    let operations = paths.filter_map(Value::as_object_mut).flat_map(Map::values_mut);
    operations.filter_map(Value::as_object_mut).for_each(change);
}

/// Names the style of parameters of queries that are lists or maps: `status=idle&status=failed` and `labels[user]=ann`.
fn set_style(parameter: &mut Map<String, Value>, schemas: &Value) {
    if parameter.get("in").is_none_or(|place| place != "query") {
        return;
    }
    let schema = parameter.get("schema").cloned().unwrap_or_default();
    let named = schema["$ref"].as_str().and_then(|path| path.strip_prefix(schemas::PREFIX));
    let shape = named.map_or(&schema, |name| &schemas[name]);
    let style = match shape["type"].as_str() {
        Some("array") => "form",
        Some("object") => "deepObject",
        Some(_) | None => return,
    };
    parameter.insert("style".to_owned(), style.into());
    parameter.insert("explode".to_owned(), true.into());
}

/// Removes the schemas that nothing refers to: those whose properties became parameters.
fn prune(document: &mut Value) {
    let schemas = document["components"]["schemas"].take();
    let mut wanted = Vec::new();
    references(&document["paths"], &mut wanted);
    let mut kept = Map::new();
    while let Some(name) = wanted.pop() {
        if let Some(schema) = schemas.get(&name).filter(|_| !kept.contains_key(&name)) {
            references(schema, &mut wanted);
            kept.insert(name, schema.clone());
        }
    }
    document["components"]["schemas"] = Value::Object(kept);
}

/// Collects the names of the schemas to which a value refers.
fn references(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(path)) = fields.get("$ref") {
                names.extend(path.strip_prefix(schemas::PREFIX).map(str::to_owned));
            }
            fields.values().for_each(|field| references(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
