//! The notes that the researchers search: three rivers.

use std::sync::Arc;

use holdover::prelude::*;
use holdover::tools::Tool;

/// The notes, each with a name and a text.
const NOTES: [(&str, &str); 3] = [
    ("elbe", "The Elbe rises in the Giant Mountains and flows 1,094 km to the North Sea."),
    ("moselle", "The Moselle rises in the Vosges and flows 544 km through three countries."),
    ("weser", "The Weser begins at Hann. Münden and flows 451 km to the North Sea."),
];

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// A word, such as the name of a river.
    word: String,
}

/// Returns a tool that finds the notes that contain a word. It changes nothing.
pub(crate) fn search() -> Result<Arc<dyn Tool>, Box<dyn std::error::Error>> {
    let find = |asked: Search, _: ToolCall| async move {
        let word = asked.word.to_lowercase();
        let found =
            NOTES.iter().filter(|(name, text)| name.contains(&word) || text.to_lowercase().contains(&word));
        let lines: Vec<String> = found.map(|(name, text)| format!("{name}: {text}")).collect();
        match lines.is_empty() {
            true => Err(ToolError::Failed(format!("no note has the word {:?}", asked.word))),
            false => Ok(ToolOutput::text(lines.join("\n"))),
        }
    };
    let tool = FunctionTool::new(ToolName::new("search")?, "Finds the notes in which a word stands", find);
    Ok(Arc::new(tool.effect(EffectClass::ReadOnly)))
}
