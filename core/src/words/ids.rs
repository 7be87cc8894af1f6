//! The ids and numbers of the store contract, and those that only the core uses.

pub use holdover_store::ids::*;
use holdover_store::{number, text_id};

/// The maximum length of a tool name, in bytes. Some providers refuse longer names.
pub const TOOL_NAME_BYTES_MAX: usize = PLAIN_BYTES_MAX;

text_id!(
    /// The name by which a model calls a tool.
    ToolName, "tool name", Plain);

number!(
    /// The number of a step in its session: 1, 2, 3, … across turns.
    StepNumber, u64);
number!(
    /// The number of a turn in its session: 1, 2, 3, …
    TurnNumber, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_tool_is_called_as_every_provider_takes_it() {
        for good in ["book_payment", "book-payment", "B2", &"x".repeat(TOOL_NAME_BYTES_MAX)] {
            assert_eq!(ToolName::new(good).expect("a good name").as_str(), good);
        }
        let why = ToolName::new("book payment").expect_err("a blank").to_string();
        assert!(why.starts_with("tool name contains ' ' at byte 4; providers take only "), "{why}");
        for bad in ["", "a.b", "größe", "a/b", &"x".repeat(TOOL_NAME_BYTES_MAX + 1)] {
            assert!(ToolName::new(bad).is_err(), "{bad}");
        }
    }
}
