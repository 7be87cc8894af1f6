//! Makes texts for callers in any language of doc comments.

use serde_json::Value;

/// Rewrites all descriptions.
pub(crate) fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = without_links(&without_examples(text)).replace("`None`", "`null`");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes the examples, which are Rust code.
fn without_examples(text: &str) -> String {
    let texts: Vec<&str> = text.split("```").step_by(2).map(str::trim).collect();
    texts.join("\n\n").trim_end().to_owned()
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
