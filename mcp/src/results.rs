//! Converts a server's answers for the model.

use holdover_core::image::{Image, Images};
use holdover_core::tool::{ToolError, ToolOutput, ToolReturn};
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, ResourceContents};

/// Returns the result of a call. Fails if the tool reported an error, or if the answer holds no result.
pub(crate) fn read(response: CallToolResponse) -> Result<ToolReturn, ToolError> {
    let result = match response {
        CallToolResponse::Complete(result) => result,
        CallToolResponse::InputRequired(_) => {
            return Err(ToolError::Failed(
                "the server asks for more input, which nobody gives here".to_owned(),
            ));
        }
        // The server continues working, but this client cannot ask for the outcome.
        CallToolResponse::Task(_) => {
            return Err(ToolError::Lost("the server made a task of it, which is not followed".to_owned()));
        }
        other => return Err(ToolError::Lost(format!("the server answered what is not known: {other:?}"))),
    };
    let failed = result.is_error == Some(true);
    let images = if failed { Images::none() } else { images(&result) };
    let told = text(result, &images);
    if failed {
        let why = if told.is_empty() { "the server says only that it failed".to_owned() } else { told };
        return Err(ToolError::Failed(why));
    }
    Ok(ToolOutput::text(told).showing(images).into())
}

/// Returns the pictures that a model can be shown: the first ones, up to the limit for a message.
fn images(result: &CallToolResult) -> Images {
    let images = result.content.iter().filter_map(ContentBlock::as_image);
    Images::first_of(images.filter_map(|image| Image::from_base64(&image.data).ok()))
}

/// Returns the parts of the result, one paragraph each. If there are none, returns the structured content.
fn text(result: CallToolResult, shown: &Images) -> String {
    let parts: Vec<String> = result.content.iter().map(|block| part(block, shown)).collect();
    match result.structured_content {
        Some(value) if parts.is_empty() => value.to_string(),
        Some(_) | None => parts.join("\n\n"),
    }
}

fn part(block: &ContentBlock, shown: &Images) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => match shown.iter().find(|shown| shown.base64() == image.data) {
            Some(shown) => format!("[a picture: {shown}]"),
            None => not_shown("image", &image.mime_type, &image.data),
        },
        ContentBlock::Audio(audio) => not_shown("sound", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                not_shown(uri, mime_type.as_deref().unwrap_or("unknown type"), blob)
            }
            other => format!("[a resource that cannot be shown: {other:?}]"),
        },
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        other => format!("[a part that cannot be shown: {other:?}]"),
    }
}

/// Describes a part that is not shown to the model, with its size in base 64.
fn not_shown(what: &str, kind: &str, data: &str) -> String {
    format!("[{what}, {kind}, {} bytes in base 64: not shown]", data.len())
}

#[cfg(test)]
mod tests {
    use holdover_core::image::IMAGES_MAX;

    use super::*;

    fn read_json(json: &str) -> Result<ToolReturn, ToolError> {
        read(CallToolResponse::Complete(serde_json::from_str(json).unwrap()))
    }

    #[test]
    fn parts_are_paragraphs_and_what_cannot_be_shown_is_named() {
        let result = read_json(
            r#"{ "content": [
                { "type": "text", "text": "one" },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
                { "type": "resource", "resource": { "uri": "file:///a", "text": "two" } },
                { "type": "resource_link", "uri": "file:///b", "name": "b" }
            ] }"#,
        );
        let told = "one\n\n[image, image/png, 4 bytes in base 64: not shown]\n\ntwo\n\n[b: file:///b]";
        assert_eq!(result, Ok(ToolOutput::text(told).into()));
    }

    #[test]
    fn a51_a_picture_that_models_read_is_shown() {
        let result = read_json(
            r#"{ "content": [
                { "type": "text", "text": "the plan" },
                { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/jpeg" }
            ] }"#,
        );
        let shown = Images::of([Image::from_base64("iVBORw0KGgo=").unwrap()]).unwrap();
        let told = "the plan\n\n[a picture: image/png, 8 bytes]";
        assert_eq!(result, Ok(ToolOutput::text(told).showing(shown).into()));
    }

    #[test]
    fn a51_the_first_pictures_are_shown_as_many_as_fit_and_the_others_are_named() {
        let one = r#"{ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" }"#;
        let many = vec![one; IMAGES_MAX + 2].join(",");
        // The pictures are equal; each is recognised by its bytes.
        let result = read_json(&format!(r#"{{ "content": [{many}] }}"#)).unwrap();
        let ToolReturn::Output(output) = result else { panic!("it is done") };
        assert_eq!(output.images.iter().count(), IMAGES_MAX);
    }

    #[test]
    fn structured_content_stands_where_there_are_no_parts() {
        let result = read_json(r#"{ "content": [], "structuredContent": { "sum": 3 } }"#);
        assert_eq!(result, Ok(ToolOutput::text(r#"{"sum":3}"#).into()));
    }

    #[test]
    fn an_error_of_the_tool_is_an_observation() {
        let failed = read_json(r#"{ "content": [{ "type": "text", "text": "no" }], "isError": true }"#);
        assert_eq!(failed, Err(ToolError::Failed("no".to_owned())));
        let seen = read_json(
            r#"{ "content": [{ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" }], "isError": true }"#,
        );
        let told = "[image, image/png, 12 bytes in base 64: not shown]";
        assert_eq!(seen, Err(ToolError::Failed(told.to_owned())), "an error shows none");
        let silent = read_json(r#"{ "content": [], "isError": true }"#);
        assert!(matches!(silent, Err(ToolError::Failed(why)) if why.contains("only that it failed")));
    }
}
