//! The description of streams, which have no JSON of their own.

use aide::openapi::{MediaType, ReferenceOr, Response, SchemaObject, StatusCode};
use aide::transform::TransformOperation;
use schemars::{Schema, json_schema};

use super::items::StreamItem;

const MEDIA: &str = "text/event-stream";

pub(super) fn described(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let operation =
        operation.id("followEvents").tag("events").summary("Follows a session with Server-Sent Events.");
    let operation = operation.description(
        "The `id` of each item is a cursor. A reader that connects again with the cursor of the last item that it read misses \
         nothing and gets nothing twice, also from another process. `StreamItem` describes the items.",
    );
    operation.with(|mut operation| {
        let responses = operation.inner_mut().responses.get_or_insert_default();
        let stream = aide::generate::in_context(|ctx| ctx.schema.subschema_for::<StreamItem>());
        responses.responses.insert(StatusCode::Code(200), ReferenceOr::Item(response(&stream)));
        operation
    })
}

/// Describes a stream: a text, whose items have this schema.
fn response(item: &Schema) -> Response {
    let json_schema = json_schema!({
        "type": "string",
        "contentMediaType": MEDIA,
        "contentSchema": { "type": "array", "items": item },
    });
    let schema = SchemaObject { json_schema, example: None, external_docs: None };
    let media = MediaType { schema: Some(schema), ..MediaType::default() };
    Response {
        description: "The stream.".to_owned(),
        content: [(MEDIA.to_owned(), media)].into_iter().collect(),
        ..Response::default()
    }
}
