//! The description of the streams.

use aide::transform::TransformOperation;

use super::items::{StreamItem, TreeStreamItem};
use crate::openapi::answers_with_a_stream_of;

pub(super) fn session(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let operation =
        operation.id("followEvents").tag("events").summary("Follows a session with Server-Sent Events.");
    answers_with_a_stream_of::<StreamItem>(operation).description(
        "The `id` of each item is a cursor. A reader that connects again with the cursor of the last item that it read misses \
         nothing and gets nothing twice, also from another process. `StreamItem` describes the items.",
    )
}

pub(super) fn tree(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let operation = operation
        .id("followTree")
        .tag("events")
        .summary("Follows a session and the sessions below it with Server-Sent Events.");
    answers_with_a_stream_of::<TreeStreamItem>(operation).description(
        "Each item names its session, as `TreeStreamItem` describes. The events of a child come between those of its parent that \
         begin and end the call. The `id` of each item is a cursor in the whole tree, valid for this operation only: a reader \
         that connects again with the last one misses nothing and gets no event twice. At most 64 children are followed at \
         once; the others are when an earlier one has ended.",
    )
}
