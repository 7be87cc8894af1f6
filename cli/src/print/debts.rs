//! Prints the answers that a session waits for.

use holdover_core::gate::AtExpiry;
use holdover_core::ids::SessionId;
use holdover_core::phrases;
use holdover_core::time::Timestamp;
use holdover_runtime_local::Deciders;
use serde_json::Value;

use super::{Out, clean, counted, cut, in_time, inline, instant, shell};
use crate::owed::{By, Debt};

/// The maximum number of characters of one argument that are shown for a decision.
const SHOWN_CHARS: usize = 4_000;

/// Prints the answers that `session` and its children wait for, and the commands that give them.
pub(crate) fn all(out: &Out, session: &SessionId, debts: &[Debt], now: Timestamp) {
    for debt in debts {
        out.line("");
        if debt.session != *session {
            out.line(format!("  in session {}:", debt.session));
        }
        one(out, debt, now);
    }
}

/// Prints one awaited answer, and the commands that give it.
pub(crate) fn one(out: &Out, debt: &Debt, now: Timestamp) {
    let what = match &debt.by {
        By::Answer(kind) => phrases::pending(kind).to_owned(),
        By::Time => "its time".to_owned(),
        By::Signal(name) => format!("the signal {name}"),
    };
    let until = match debt.until {
        Some(at) => format!(", until {} ({})", instant(at), in_time(now, at)),
        None if debt.by == By::Time => String::new(),
        None => ", for ever".to_owned(),
    };
    out.line(format!(
        "  {} waits for {what}{until}",
        out.bold(&format!("{} ({})", inline(&debt.tool), debt.call))
    ));
    if let Some(prompt) = &debt.prompt {
        out.line(format!("    {}", cut(prompt, SHOWN_CHARS)));
    }
    for line in debt.deciders.iter().flat_map(deciders) {
        out.line(format!("    {line}"));
    }
    for line in debt.arguments.iter().flat_map(|text| arguments(text)) {
        out.line(format!("    {line}"));
    }
    for (word, command) in &debt.commands {
        out.line(format!("  {word:<8} {}", shell(command)));
    }
}

/// Describes the people who may decide, in at most four lines.
fn deciders(deciders: &Deciders) -> Vec<String> {
    let Deciders { needed, approved, may, later, at_expiry } = deciders;
    let who = |names: &[String]| inline(&names.join(", "));
    let from = if may.is_empty() { "anyone with a name".to_owned() } else { who(may) };
    let mut lines = vec![format!("{} of {}, from {from}", approved.len(), counted(*needed, "approval"))];
    if !approved.is_empty() {
        lines.push(format!("approved by {}", who(approved)));
    }
    lines
        .extend(later.iter().take(1).map(|next| format!("from {} also {}", instant(next.at), who(&next.to))));
    match at_expiry {
        AtExpiry::Deny => {}
        AtExpiry::Approve => lines.push("runs when nobody decides in time".to_owned()),
        AtExpiry::Result(text) => {
            lines.push(format!("when nobody decides in time: {}", cut(text, SHOWN_CHARS)))
        }
    }
    lines
}

/// Returns the arguments of a call, one on each line; for a long argument, its beginning and its length. Text of the
/// model always stands to the right of a name or a bar, so that it cannot look like a line of this program.
fn arguments(text: &str) -> Vec<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return barred(text) };
    let mut lines = Vec::new();
    for (name, value) in &fields {
        let name = inline(name);
        match value.as_str() {
            Some(text) if text.contains('\n') => {
                lines.push(format!("{name}:"));
                lines.extend(barred(text).iter().map(|line| format!("  {line}")));
            }
            Some(text) => lines.extend(named(&name, text)),
            None => lines.extend(named(&name, &value.to_string())),
        }
    }
    lines
}

fn named(name: &str, text: &str) -> Vec<String> {
    let (text, rest) = shown(text);
    [format!("{name}: {}", inline(&text))].into_iter().chain(rest).collect()
}

fn barred(text: &str) -> Vec<String> {
    let (text, rest) = shown(text);
    text.lines().map(|line| format!("| {line}")).chain(rest).collect()
}

/// Returns the part of `text` that is shown, and a note on the rest.
fn shown(text: &str) -> (String, Option<String>) {
    let cleaned = clean(text);
    match cleaned.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => {
            let bytes = text.len();
            let rest = format!("… {bytes} bytes in all: holdover sessions messages shows them");
            (cleaned[..end].to_owned(), Some(rest))
        }
        None => (cleaned, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_an_argument_begins_as_the_model_likes() {
        for (text, lines) in [
            (r#"{"x\n  approve  rm": "boo"}"#, &[r"x\n  approve  rm: boo"][..]),
            (r#"{"x": "a\tb", "y": {"\n": 1}}"#, &[r"x: a\tb", r#"y: {"\n":1}"#]),
            (r#"{"x": "a\n  approve  rm"}"#, &["x:", "  | a", "  |   approve  rm"]),
            ("[1,\n  approve  rm\n]", &["| [1,", "|   approve  rm", "| ]"]),
            ("\r\n  deny", &[r"| \r", "|   deny"]),
        ] {
            assert_eq!(arguments(text), lines, "{text}");
        }
        let long = arguments(&"x".repeat(SHOWN_CHARS + 1));
        assert_eq!(long[1], "… 4001 bytes in all: holdover sessions messages shows them");
    }
}
