//! The description of the API, in OpenAPI 3.1.

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::openapi::{MediaType, OpenApi, ReferenceOr, Response, SchemaObject, SecurityScheme, StatusCode};
use aide::transform::{TransformOpenApi, TransformOperation};
use axum::Router;
use schemars::json_schema;
use serde_json::{Map, Value};

use crate::access::SCHEME;
use crate::desk::Desk;
use crate::router::routes;

/// The schemas of the contents of events, which only the description of a stream names.
const CONTENTS_OF_STREAMS: [&str; 3] = ["EventEntry", "Delta", "EndOfStream"];

/// Returns the description of the API, in OpenAPI 3.1. The router serves it as `/openapi.json`.
pub fn openapi() -> Value {
    described(routes()).1
}

/// Returns the routes with their description.
pub(crate) fn described(routes: ApiRouter<Arc<Desk>>) -> (Router<Arc<Desk>>, Value) {
    let mut document = OpenApi::default();
    let routes = routes.finish_api_with(&mut document, whole);
    let mut document = serde_json::to_value(document).unwrap_or_default();
    plain(&mut document);
    let schemas = document["components"]["schemas"].clone();
    each_parameter(&mut document, |parameter| set_style(parameter, &schemas));
    prune(&mut document);
    (routes, document)
}

/// Describes an answer that is a stream of Server-Sent Events.
pub(crate) fn answers_with_a_stream(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation.with(|mut operation| {
        let schema = SchemaObject {
            json_schema: json_schema!({ "type": "string" }),
            example: None,
            external_docs: None,
        };
        let media = MediaType { schema: Some(schema), ..MediaType::default() };
        let response = Response {
            description: "The stream.".to_owned(),
            content: [("text/event-stream".to_owned(), media)].into_iter().collect(),
            ..Response::default()
        };
        let responses = operation.inner_mut().responses.get_or_insert_default();
        responses.responses.insert(StatusCode::Code(200), ReferenceOr::Item(response));
        operation
    })
}

fn whole(document: TransformOpenApi<'_>) -> TransformOpenApi<'_> {
    document
        .title("Holdover")
        .version(env!("CARGO_PKG_VERSION"))
        .description(
            "Sessions of agents that survive restarts. Times are milliseconds since 1970-01-01T00:00:00Z.",
        )
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

/// Replaces the links in all descriptions, which are doc comments, by their texts.
pub(crate) fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = without_links(text);
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn each_parameter(document: &mut Value, mut change: impl FnMut(&mut Map<String, Value>)) {
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    let operations = paths.filter_map(Value::as_object_mut).flat_map(Map::values_mut);
    for operation in operations {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        parameters.into_iter().flatten().filter_map(Value::as_object_mut).for_each(&mut change);
    }
}

/// Sets the style of parameters of queries that are lists or maps to the one that the routes read: `status=idle,failed`
/// and `labels[user]=ann`.
fn set_style(parameter: &mut Map<String, Value>, schemas: &Value) {
    if parameter.get("in").is_none_or(|place| place != "query") {
        return;
    }
    let schema = parameter.get("schema").cloned().unwrap_or_default();
    let named = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let shape = named.map_or(&schema, |name| &schemas[name]);
    if shape["type"] == "array" {
        parameter.insert("explode".to_owned(), false.into());
    } else if shape["type"] == "object" {
        parameter.insert("style".to_owned(), "deepObject".into());
        parameter.insert("explode".to_owned(), true.into());
    }
}

/// Removes the schemas that nothing refers to: those whose properties became parameters. The contents of a stream stay.
fn prune(document: &mut Value) {
    let schemas = document["components"]["schemas"].take();
    let mut wanted: Vec<String> = CONTENTS_OF_STREAMS.map(str::to_owned).into();
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
                names.extend(path.strip_prefix("#/components/schemas/").map(str::to_owned));
            }
            fields.values().for_each(|field| references(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces links of doc comments, such as ``[`Event`](path)``, by their texts.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begins) = rest.find('[') {
        let (before, from) = rest.split_at(begins);
        plain.push_str(before);
        let Some(ends) = from.find(']') else {
            rest = from;
            break;
        };
        let (label, after) = (&from[1..ends], &from[ends + 1..]);
        plain.push_str(label);
        rest = match after.strip_prefix('(').and_then(|target| target.find(')').map(|end| &target[end + 1..]))
        {
            Some(after_target) => after_target,
            None => after,
        };
    }
    plain.push_str(rest);
    plain
}
