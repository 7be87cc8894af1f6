//! Tools that are temporarily withheld from the model.

use serde::{Deserialize, Serialize};

use crate::words::ids::StepNumber;

/// A tool that the model temporarily does not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The name of the tool.
    pub tool: String,
    /// The first step in which the model sees the tool again.
    pub until: StepNumber,
}

/// The stored form: one tool as a single object, as older versions wrote it; otherwise a list.
pub(super) mod one_or_more {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Withheld;

    pub(crate) fn serialize<S: Serializer>(all: &[Withheld], to: S) -> Result<S::Ok, S::Error> {
        match all {
            [one] => one.serialize(to),
            more => more.serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Withheld>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            One(Withheld),
            More(Vec<Withheld>),
        }
        Ok(match Stored::deserialize(from)? {
            Stored::One(one) => vec![one],
            Stored::More(more) => more,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Input;
    use super::Withheld;
    use crate::words::ids::{MessageSeq, StepNumber};

    #[test]
    fn one_is_stored_as_ever_and_more_as_a_list() {
        let withheld = |tool: &str| Withheld { tool: tool.to_owned(), until: StepNumber(9) };
        let none = r#"{"input":"model_called","entry":2}"#;
        let one = r#"{"input":"model_called","entry":2,"withheld":{"tool":"a","until":9}}"#;
        let two = r#"{"input":"model_called","entry":2,"withheld":[{"tool":"a","until":9},{"tool":"b","until":9}]}"#;
        for (stored, withheld) in
            [(none, vec![]), (one, vec![withheld("a")]), (two, vec![withheld("a"), withheld("b")])]
        {
            let input = Input::ModelCalled { entry: MessageSeq(2), withheld };
            assert_eq!(serde_json::to_string(&input).unwrap(), stored);
            assert_eq!(serde_json::from_str::<Input>(stored).unwrap(), input);
        }
    }
}
