//! The description of streams, which have no JSON of their own.

use aide::openapi::{MediaType, ReferenceOr, Response, SchemaObject, StatusCode};
use aide::transform::TransformOperation;
use schemars::{JsonSchema, Schema, json_schema};

use super::items::{StreamItem, TreeStreamItem};

const MEDIA: &str = "text/event-stream";

pub(super) fn session(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let operation = operation.id("followEvents").summary("Follows a session with Server-Sent Events.");
    streamed::<StreamItem>(operation).description(
        "The `id` of each item is a cursor. A reader that connects again with the cursor of the last item that it read misses \
         nothing and gets nothing twice, also from another process. `StreamItem` describes the items.",
    )
}

pub(super) fn tree(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let operation = operation
        .id("followTree")
        .summary("Follows a session and the sessions below it with Server-Sent Events.");
    streamed::<TreeStreamItem>(operation).description(
        "Each item names its session, as `TreeStreamItem` describes. The events of a child come between those of its parent that \
         begin and end the call. The `id` of each item is a cursor in the whole tree, valid for this operation only: a reader \
         that connects again with the last one misses nothing and gets no event twice. At most 64 children are followed at \
         once; the others are when an earlier one has ended.",
    )
}

/// Describes an operation whose answer is a stream of these items.
fn streamed<T: JsonSchema>(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation.tag("events").with(|mut operation| {
        let responses = operation.inner_mut().responses.get_or_insert_default();
        let item = aide::generate::in_context(|ctx| ctx.schema.subschema_for::<T>());
        responses.responses.insert(StatusCode::Code(200), ReferenceOr::Item(response(&item)));
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
