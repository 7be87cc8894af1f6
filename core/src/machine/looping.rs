//! Loop detection: finds whether the model makes the same calls repeatedly (requirements A24 to A27, A32).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::words::agent::{COUNTED_MAX, LoopDetection};
use crate::words::message::{Message, ToolResult};

/// The number of newest messages that are searched for calls, unless the rules need more.
pub const WINDOW: usize = 16;

/// Returns the number of newest messages that are searched: [`WINDOW`], or as many as the highest number in the rules
/// needs at one call per step. Numbers above [`COUNTED_MAX`] count as [`COUNTED_MAX`].
pub fn window(rules: &LoopDetection) -> usize {
    let most = rules.stop_at.max(rules.warn_at).max(rules.withhold_at).min(COUNTED_MAX);
    WINDOW.max(2 * most as usize)
}

/// The names of arguments that page through a result. Calls that differ only in these are no loop (A26).
pub(crate) const PAGINATION_KEYS: [&str; 11] = [
    "offset",
    "limit",
    "page",
    "start_line",
    "end_line",
    "cursor",
    "after",
    "before",
    "next_page_token",
    "page_token",
    "skip",
];

/// Up to this number, all calls of a tool are counted; beyond it, only similar calls.
const PLAIN_MAX: usize = 2;

/// The fewest calls that form a group of similar calls.
const GROUP_MIN: usize = 3;

/// The number of similar calls of a tool in the newest messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    /// The tool.
    pub tool: String,
    /// The number of its similar calls.
    pub count: u32,
}

/// A call, reduced to the parts that are compared.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    arguments: &'a str,
    /// The result of the call. `None` if the rules do not compare results, or if there is no result.
    result: Option<&'a str>,
}

/// Returns the number of similar calls of each tool, the most frequent tool first. Searches the [newest](window) of
/// `messages`, which are oldest first. The newest user message starts the count again. A message that the engine
/// wrote in the user's role does not.
pub fn repeated<'a>(
    messages: impl DoubleEndedIterator<Item = &'a Message>,
    rules: &LoopDetection,
) -> Vec<Repeated> {
    let seen = messages.rev().filter(|message| is_said(message));
    let newest: Vec<&Message> =
        seen.take(window(rules)).take_while(|message| !matches!(message, Message::User(_))).collect();
    let results: BTreeMap<&str, &ToolResult> = newest
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) => Some((result.call.as_str(), result)),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        })
        .collect();
    let mut calls: BTreeMap<&str, Vec<Asked<'_>>> = BTreeMap::new();
    for message in newest.iter().rev() {
        let Message::Assistant(said) = message else { continue };
        for call in said.calls() {
            let result = results.get(call.id.as_str()).map(|result| result.content.as_str());
            let result = result.filter(|_| rules.with_results);
            calls.entry(&call.tool).or_default().push(Asked { arguments: &call.arguments, result });
        }
    }
    let counted = calls.into_iter().map(|(tool, calls)| {
        let count = u32::try_from(count(&calls)).unwrap_or(u32::MAX);
        Repeated { tool: tool.to_owned(), count }
    });
    let mut counted: Vec<Repeated> = counted.collect();
    counted.sort_by_key(|repeated| Reverse(repeated.count));
    counted
}

/// Returns true if these messages, in any order, include everything that [`repeated`] searches. Then earlier
/// messages change nothing.
pub(crate) fn is_whole<'a>(messages: impl Iterator<Item = &'a Message>, rules: &LoopDetection) -> bool {
    let mut said = 0;
    for message in messages.filter(|message| is_said(message)) {
        said += 1;
        if matches!(message, Message::User(_)) || said >= window(rules) {
            return true;
        }
    }
    false
}

/// Returns true if a message counts towards the window: it is from a user, the model, or a tool.
fn is_said(message: &Message) -> bool {
    match message {
        Message::User(said) => !said.by_engine,
        Message::Assistant(_) | Message::Tool(_) => true,
        Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => false,
    }
}

/// Returns the number of similar calls of a tool (A25).
fn count(calls: &[Asked<'_>]) -> usize {
    if calls.len() <= PLAIN_MAX {
        return calls.len();
    }
    let mut same: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    for call in calls {
        *same.entry((call.arguments, call.result)).or_default() += 1;
    }
    let exact = same.into_values().max().unwrap_or(0);
    if exact >= GROUP_MIN { exact } else { exact.max(similar(calls)) }
}

/// The arguments of a call, and its result if that counts.
type Parsed<'a> = (Map<String, Value>, Option<&'a str>);

/// Returns the largest number of calls with the same keys that are similar to the first of them.
fn similar(calls: &[Asked<'_>]) -> usize {
    let mut groups: BTreeMap<BTreeSet<String>, Vec<Parsed<'_>>> = BTreeMap::new();
    for call in calls {
        if let Ok(Value::Object(arguments)) = serde_json::from_str(call.arguments) {
            let keys = arguments.keys().cloned().collect();
            groups.entry(keys).or_default().push((arguments, call.result));
        }
    }
    let alike = |group: &Vec<Parsed<'_>>| {
        let Some((first, result)) = group.first() else { return 0 };
        group.iter().filter(|(other, of)| of == result && are_alike(first, other)).count()
    };
    groups.values().filter(|group| group.len() >= GROUP_MIN).map(alike).max().unwrap_or(0)
}

/// Returns true if two calls with the same keys are similar: at least half of the values are equal, and the calls do
/// not differ only in the page.
fn are_alike(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let differ: Vec<&String> =
        one.iter().filter(|(key, value)| other.get(*key) != Some(*value)).map(|(key, _)| key).collect();
    let pages_only = !differ.is_empty() && differ.iter().all(|key| PAGINATION_KEYS.contains(&key.as_str()));
    let same = one.len() - differ.len();
    !pages_only && same * 2 >= one.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::ids::CallId;
    use crate::words::image::Images;
    use crate::words::message::{AssistantMessage, AssistantPart, CallRequest, ResultStatus, UserMessage};

    fn user() -> Message {
        Message::User(UserMessage::new("go on"))
    }

    /// Returns a step of one call and its result.
    fn step(number: usize, tool: &str, arguments: &str, result: &str) -> [Message; 2] {
        let id = CallId::new(format!("c{number}-0")).unwrap();
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        let call = CallRequest { id: id.clone(), tool: tool.clone(), arguments };
        let asked = AssistantMessage::new(vec![AssistantPart::Call(call)]);
        let result = ToolResult {
            call: id,
            tool,
            status: ResultStatus::Done,
            content: result.to_owned(),
            edited_arguments: None,
            duration_ms: None,
            stop: false,
            broken: false,
            sent: None,
            denial: None,
            changes: Vec::new(),
            images: Images::none(),
            instead_of: Vec::new(),
        };
        [Message::Assistant(asked), Message::Tool(result)]
    }

    fn counted(arguments: &[&str]) -> u32 {
        let steps = arguments.iter().enumerate().flat_map(|(at, text)| step(at, "look", text, "nothing"));
        let messages: Vec<Message> = std::iter::once(user()).chain(steps).collect();
        repeated(messages.iter(), &LoopDetection::default()).first().map_or(0, |found| found.count)
    }

    #[test]
    fn a25_one_or_two_calls_count_as_they_are() {
        assert_eq!(counted(&[]), 0);
        assert_eq!(counted(&[r#"{"a":1}"#]), 1);
        assert_eq!(counted(&[r#"{"a":1}"#, r#"{"b":2}"#]), 2);
    }

    #[test]
    fn a25_three_identical_calls_count_whatever_stands_between() {
        let same = r#"{"a":1}"#;
        assert_eq!(counted(&[same, same, same]), 3);
        assert_eq!(counted(&[same, r#"{"b":1}"#, same, "no json", same]), 3);
        // Identical calls decide, even if more calls are similar.
        assert_eq!(counted(&[same, same, same, r#"{"a":2,"b":1}"#, r#"{"a":2,"b":1}"#]), 3);
        assert_eq!(counted(&["no json", "no json", "no json"]), 3);
    }

    #[test]
    fn a25_like_calls_have_half_of_their_values_in_common_with_the_first() {
        let two = |b: u32| format!(r#"{{"a":1,"b":{b}}}"#);
        assert_eq!(counted(&[&two(1), &two(2), &two(3)]), 3);
        // One of three: less than half.
        let three = |n: u32| format!(r#"{{"a":1,"b":{n},"c":{n}}}"#);
        assert_eq!(counted(&[&three(1), &three(2), &three(3)]), 1);
        // Each call is compared with the first one, not with the one before it.
        assert_eq!(counted(&[r#"{"a":1,"b":1}"#, r#"{"a":2,"b":3}"#, r#"{"a":2,"b":4}"#]), 1);
        // Calls with other keys form another group, and two calls are too few for a group.
        assert_eq!(counted(&[&two(1), &two(2), r#"{"a":1,"c":3}"#]), 1);
    }

    #[test]
    fn a26_calls_that_page_through_a_result_are_not_alike() {
        const PAGES: &str =
            "offset limit page start_line end_line cursor after before next_page_token page_token skip";
        for key in PAGES.split(' ') {
            let page = |at: u32| format!(r#"{{"path":"a","{key}":{at}}}"#);
            assert_eq!(counted(&[&page(1), &page(2), &page(3), &page(4)]), 1, "{key}");
            // The calls differ in another argument, too.
            let other = |at: u32| format!(r#"{{"path":"a","deep":true,"{key}":{at},"word":"{at}"}}"#);
            assert_eq!(counted(&[&other(1), &other(2), &other(3)]), 3, "{key}");
            assert_eq!(counted(&[&page(1), &page(1), &page(1)]), 3, "the same page again");
        }
    }

    #[test]
    fn a24_only_the_newest_messages_count_and_a32_what_a_user_says_begins_anew() {
        let steps = |of: std::ops::Range<usize>| of.flat_map(|at| step(at, "look", "{}", "nothing"));
        let rules = LoopDetection::default();
        let messages: Vec<Message> = steps(0..20).collect();
        let found = |messages: &[Message], rules| {
            let found = repeated(messages.iter(), rules);
            found.into_iter().map(|Repeated { tool, count }| (tool, count)).collect::<Vec<_>>()
        };
        let look = |count| vec![("look".to_owned(), count)];
        assert_eq!(found(&messages, &rules), look(8), "half of sixteen");
        let patient = LoopDetection { stop_at: 12, ..LoopDetection::default() };
        assert_eq!(found(&messages, &patient), look(12), "what may be asked for is seen");
        let messages: Vec<Message> = steps(0..7).chain([user()]).chain(steps(7..9)).collect();
        assert_eq!(found(&messages, &rules), look(2));
        let messages: Vec<Message> = steps(0..7).chain([user()]).collect();
        assert_eq!(found(&messages, &rules), []);
        // A message that the engine wrote does not count, and takes no place in the window.
        let engine = || Message::User(UserMessage::by_engine("not so"));
        let messages: Vec<Message> = steps(0..20).flat_map(|message| [message, engine()]).collect();
        assert_eq!(found(&messages, &rules), look(8));
    }

    #[test]
    fn calls_are_counted_tool_by_tool() {
        let tools = ["look", "find", "look", "find", "look"];
        let messages: Vec<Message> =
            tools.iter().enumerate().flat_map(|(at, tool)| step(at, tool, "{}", "")).collect();
        let found = repeated(messages.iter(), &LoopDetection::default());
        let of = |tool: &str, count| Repeated { tool: tool.to_owned(), count };
        assert_eq!(found, [of("look", 3), of("find", 2)]);
    }

    #[test]
    fn where_results_count_too_a_call_that_learns_something_new_is_no_repeat() {
        let rules = LoopDetection { with_results: true, ..LoopDetection::default() };
        let polled: Vec<Message> =
            (0..4).flat_map(|at| step(at, "look", r#"{"a":1}"#, &format!("{at} %"))).collect();
        assert_eq!(repeated(polled.iter(), &rules)[0].count, 1);
        assert_eq!(repeated(polled.iter(), &LoopDetection::default())[0].count, 4);
        let stuck: Vec<Message> = (0..4).flat_map(|at| step(at, "look", r#"{"a":1}"#, "0 %")).collect();
        assert_eq!(repeated(stuck.iter(), &rules)[0].count, 4);
    }
}
