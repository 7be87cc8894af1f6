//! The description of streams, which have no JSON of their own.

use aide::openapi::{MediaType, ReferenceOr, Response, SchemaObject, StatusCode};
use aide::transform::TransformOperation;
use schemars::{JsonSchema, Schema, json_schema};

const MEDIA: &str = "text/event-stream";

/// Describes an operation whose answer is a stream of Server-Sent Events.
pub(crate) fn answers_with_a_stream(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    streams(operation, json_schema!({ "type": "string", "contentMediaType": MEDIA }))
}

/// Describes an operation whose answer is a stream of these items.
pub(crate) fn answers_with_a_stream_of<T: JsonSchema>(
    operation: TransformOperation<'_>,
) -> TransformOperation<'_> {
    let item = aide::generate::in_context(|ctx| ctx.schema.subschema_for::<T>());
    let items = json_schema!({
        "type": "string",
        "contentMediaType": MEDIA,
        "contentSchema": { "type": "array", "items": item },
    });
    streams(operation, items)
}

fn streams(mut operation: TransformOperation<'_>, json_schema: Schema) -> TransformOperation<'_> {
    let schema = SchemaObject { json_schema, example: None, external_docs: None };
    let media = MediaType { schema: Some(schema), ..MediaType::default() };
    let response = Response {
        description: "The stream.".to_owned(),
        content: [(MEDIA.to_owned(), media)].into_iter().collect(),
        ..Response::default()
    };
    let responses = operation.inner_mut().responses.get_or_insert_default();
    responses.responses.insert(StatusCode::Code(200), ReferenceOr::Item(response));
    operation
}
