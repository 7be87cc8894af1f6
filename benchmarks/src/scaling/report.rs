//! The results of the scaling benchmark, as Markdown.

use hdrhistogram::Histogram;

use super::{DUE, Measured, Waits};
use crate::machine::Facts;

/// Returns the page with the results.
pub(super) fn write(command: &str, facts: &Facts, beside: usize, backlog: usize, all: &[Measured]) -> String {
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    let mut lines = vec![
        "# Beside many sessions\n".to_owned(),
        format!("Written by this command on {now}:\n\n```sh\n{command}\n```\n"),
        "| what | value |\n|---|---|".to_owned(),
    ];
    lines.extend(facts.iter().map(|(name, value)| format!("| {name} | {value} |")));
    lines.push(format!(
        "\n## What workers and people wait for\n\nFirst on a store with nothing in it, then beside {beside} suspended \
         sessions of one tenant, each with an open call and an alarm that lies ahead. Postgres was vacuumed in between, as it \
         does by itself some minutes after so many writes. One asks at a time. *Idle*: a look at \
         what is due that finds nothing. *Claim*: one of {DUE} due sessions is claimed. *Find*: an asking is found by its \
         id alone, as `holdover approve ID` does it: its session by the life that the id names, and the calls of that. \
         *Answer*: it is delivered. Milliseconds: median, and the 99th of a hundred. *Exchanges*: how often a worker as it is by \
         default, which finds nothing due, asks the server in a second; the server counts, in Postgres transactions, in \
         Redis reads from connections.\n"
    ));
    lines.push(
        "| store | beside | idle | claim | find | answer | exchanges |\n|---|---|---|---|---|---|---|"
            .to_owned(),
    );
    for one in all {
        for (beside, waits, exchanges) in [(0, &one.alone, None), (beside, &one.beside, one.exchanges)] {
            let Waits { idle, claim, find, answer } = waits;
            let [idle, claim, find, answer] = [idle, claim, find, answer].map(ms);
            let backend = &one.backend;
            let exchanges = exchanges.map_or_else(String::new, |exchanges| format!("{exchanges:.2}"));
            lines.push(format!(
                "| {backend} | {beside} | {idle} | {claim} | {find} | {answer} | {exchanges} |"
            ));
        }
    }
    lines.push(format!(
        "\n## Turns\n\nHow long a tenant with one due session waits for the one worker that there is, which claims one session \
         after the other and leaves it at once; with no other due, and while another tenant has {backlog} due for long. Milliseconds: median, \
         and the 99th of a hundred. Besides, how long it took to make the sessions of the table above.\n"
    ));
    lines.push("| store | alone | beside the backlog | made, s |\n|---|---|---|---|".to_owned());
    for one in all {
        let (alone, turn, made) = (ms(&one.no_backlog), ms(&one.turn), one.made_in.as_secs());
        lines.push(format!("| {} | {alone} | {turn} | {made} |", one.backend));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn ms(times: &Histogram<u64>) -> String {
    let [median, high] = [0.5, 0.99].map(|share| times.value_at_quantile(share));
    let ms = |us: u64| format!("{}.{:02}", us / 1000, us % 1000 / 10);
    format!("{} ({})", ms(median), ms(high))
}
