//! The recorded history of a session. The session's state can be rebuilt from its rows.

mod asks;
mod call;
mod input;
mod kinds;
mod withheld;

use serde::{Deserialize, Serialize};

pub use asks::{EngineRequest, NewCall};
pub use call::CallInput;
pub use input::{Input, Shorter, TurnRequest};
pub use kinds::{InputKind, StateKind};
pub use withheld::Withheld;

use crate::time::Timestamp;
use crate::words::ids::{CallId, CheckpointId};

/// One transition of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryRow {
    /// The state before the transition.
    pub from: StateKind,
    /// The input that caused the transition.
    #[serde(rename = "on")]
    pub input: Input,
    /// The state after the transition. `None` in the last row of a commit of an older version.
    #[serde(default, rename = "into", skip_serializing_if = "Option::is_none")]
    pub to: Option<StateKind>,
    /// The instant of the transition.
    pub at: Timestamp,
    /// The checkpoint that holds the machine as it was after this transition. `None` if the commit of the row kept no
    /// checkpoint or has later rows, and in rows of older versions. A retention rule may have deleted the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
}

impl HistoryRow {
    /// Returns the row of a transition without a checkpoint. `to` is the state after it.
    pub fn new(from: StateKind, input: Input, to: Option<StateKind>, at: Timestamp) -> Self {
        Self { from, input, to, at, checkpoint: None }
    }
}

impl HistoryRow {
    /// Returns the row as it is shown. The argument patterns of an approval are
    /// [redacted](crate::gate::ArgumentPatterns::redacted). Such a row must not be used to rebuild a state.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        if let Input::Call { input: CallInput::Approved { only, .. }, .. } = &mut self.input {
            *only = std::mem::take(only).redacted();
        }
        self
    }
}

/// The stored form of the rows of one commit. Each row leaves out fields that are equal to those of the
/// previous row, and the state after it if the next row begins in that state.
pub(crate) mod compact {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    use super::{
        CallId, CallInput, CheckpointId, Deserialize, HistoryRow, Input, Serialize, StateKind, Timestamp,
    };
    use crate::words::payload::is_default;

    /// One stored row. In the first version of the format, every row had all its fields: `from`, `on`, `at`.
    #[derive(Default, Serialize, Deserialize)]
    struct Row {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<StateKind>,
        /// The input, unless it is an input of a call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<Input>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The input of the call.
        #[serde(flatten)]
        does: Option<CallInput>,
        /// The state after the row.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        into: Option<StateKind>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<CheckpointId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
        /// The number of milliseconds since the previous row.
        #[serde(default, skip_serializing_if = "is_default")]
        ms: u32,
    }

    pub(crate) fn serialize<S: Serializer>(rows: &[HistoryRow], serializer: S) -> Result<S::Ok, S::Error> {
        let (mut from, mut call, mut at) = (None, None, None);
        serializer.collect_seq(rows.iter().enumerate().map(|(number, row)| {
            let mut stored = Row { from: fresh(&mut from, row.from), ..Row::default() };
            let next = rows.get(number + 1).map(|next| next.from);
            stored.into = row.to.filter(|to| next != Some(*to));
            stored.checkpoint = row.checkpoint;
            if let Input::Call { call: of, input } = &row.input {
                stored.call = fresh(&mut call, of.clone());
                stored.does = Some(input.clone());
            } else {
                stored.on = Some(row.input.clone());
            }
            match at.and_then(|before| since(before, row.at)) {
                Some(ms) => stored.ms = ms,
                None => stored.at = Some(row.at),
            }
            at = Some(row.at);
            stored
        }))
    }

    /// Returns the milliseconds from `before` to `at`. `None` if `at` is earlier, or if the number does not
    /// fit.
    fn since(before: Timestamp, at: Timestamp) -> Option<u32> {
        at.as_ms().checked_sub(before.as_ms()).and_then(|ms| u32::try_from(ms).ok())
    }

    /// Returns the value if it differs from `before`, and stores it there.
    fn fresh<T: Clone + PartialEq>(before: &mut Option<T>, value: T) -> Option<T> {
        (before.as_ref() != Some(&value)).then(|| before.insert(value).clone())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<HistoryRow>, D::Error> {
        let (mut from, mut call, mut at) = (None, None, None);
        let stored = Vec::<Row>::deserialize(deserializer)?.into_iter();
        let rows = stored.map(|stored| -> Result<HistoryRow, D::Error> {
            from = stored.from.or(from);
            at = stored
                .at
                .or_else(|| at.map(|at: Timestamp| at.after(Duration::from_millis(stored.ms.into()))));
            if stored.call.is_some() {
                call = stored.call;
            }
            let input = match (stored.on, stored.does, &call) {
                (Some(on), None, _) => on,
                (None, Some(input), Some(call)) => Input::Call { call: call.clone(), input },
                (_, _, _) => return Err(D::Error::custom("a history row says not what happened")),
            };
            let from = from.ok_or_else(|| D::Error::missing_field("from"))?;
            let at = at.ok_or_else(|| D::Error::missing_field("at"))?;
            Ok(HistoryRow { from, input, to: stored.into, at, checkpoint: stored.checkpoint })
        });
        let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
        let mut next = None;
        for row in rows.iter_mut().rev() {
            row.to = row.to.or(next);
            next = Some(row.from);
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::event::Event;
    use crate::words::ids::MessageSeq;
    use crate::words::usage::Usage;

    fn rows() -> Vec<HistoryRow> {
        let call = |id: &str, input| Input::Call { call: CallId::new(id).unwrap(), input };
        let (one, two) = (Timestamp::from_ms(1), Timestamp::from_ms(2));
        let asked = Input::ModelCalled { entry: MessageSeq(2), withheld: Vec::new() };
        let row = |from, input, to, at| HistoryRow::new(from, input, Some(to), at);
        vec![
            row(StateKind::Thinking, asked, StateKind::Executing, one),
            row(StateKind::Executing, call("c1-0", CallInput::Marked), StateKind::Executing, one),
            row(StateKind::Executing, call("c1-0", CallInput::Sent), StateKind::Executing, two),
            row(StateKind::Executing, call("c1-1", CallInput::Marked), StateKind::Executing, two),
            row(StateKind::Executing, Input::Parked, StateKind::Confirming, two),
            HistoryRow {
                checkpoint: Some(CheckpointId(9)),
                ..row(StateKind::Confirming, call("c1-1", CallInput::Sent), StateKind::Executing, one)
            },
        ]
    }

    #[test]
    fn d16_a_row_says_where_it_led_and_leaves_out_what_the_rows_beside_it_say() {
        let text = serde_json::to_string(&Event::History { rows: rows() }).unwrap();
        let expected = concat!(
            r#"{"type":"history","rows":["#,
            r#"{"from":"thinking","on":{"input":"model_called","entry":2},"at":1},"#,
            r#"{"from":"executing","call":"c1-0","is":"marked"},"#,
            r#"{"is":"sent","ms":1},"#,
            r#"{"call":"c1-1","is":"marked"},"#,
            r#"{"on":{"input":"parked"}},"#,
            r#"{"from":"confirming","is":"sent","into":"executing","checkpoint":9,"at":1}]}"#,
        );
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), Event::History { rows: rows() });
    }

    #[test]
    fn rows_that_leave_nothing_out_are_read_as_well() {
        let whole = serde_json::json!({ "type": "history", "rows": rows() });
        assert_eq!(serde_json::from_value::<Event>(whole).unwrap(), Event::History { rows: rows() });
        // The first format wrote all default values.
        let text = r#"{"type":"history","rows":[{"from":"streaming","on":{"input":"model_answered",
            "message":2,"calls":[{"id":"c1-0","tool":"a","effect":"at_most_once","runs_on":"server"}],
            "stop":"tool_use","usage":{"tokens":{"input":0,"output":1,"cached":0,"reasoning":0},
            "cost_microusd":0,"model_calls":1,"tool_calls":0}},"at":7},
            {"from":"steering","on":{"input":"steered","stop":null},"at":7}]}"#;
        let Event::History { rows } = serde_json::from_str(text).unwrap() else { panic!("a history") };
        let goes_on = Input::Steered {
            stop: None,
            no_output: false,
            tokens: 0,
            results: None,
            cleared: None,
            asks: None,
            usage: Usage::default(),
            corrected: false,
        };
        assert_eq!(rows[1].input, goes_on);
        assert_eq!((rows[0].to, rows[1].to), (Some(StateKind::Steering), None), "the last row does not say");
    }

    #[test]
    fn d16_a_row_that_leads_elsewhere_than_the_next_one_begins_says_so() {
        let mut rows = rows();
        rows[4].to = Some(StateKind::Steering);
        let text = serde_json::to_string(&Event::History { rows: rows.clone() }).unwrap();
        assert!(text.contains(r#"{"on":{"input":"parked"},"into":"steering"}"#), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), Event::History { rows });
    }

    #[test]
    fn rows_that_say_too_little_are_refused() {
        for rows in [
            r#"[{"from":"thinking","at":1}]"#,
            r#"[{"on":{"input":"parked"},"at":1}]"#,
            r#"[{"from":"thinking","on":{"input":"parked"}}]"#,
            r#"[{"from":"executing","is":"sent","at":1}]"#,
            r#"[{"from":"executing","call":"c1-0","is":"nonsense","at":1}]"#,
        ] {
            let text = format!(r#"{{"type":"history","rows":{rows}}}"#);
            assert!(serde_json::from_str::<Event>(&text).is_err(), "{rows}");
        }
    }
}
