//! The results as Markdown.

use std::fmt::Write as _;

use crate::growth::Growth;
use crate::machine::Facts;
use crate::scene::WORDS_APART;
use crate::sessions::Together;
use crate::stores::{self, Measured};
use crate::streams::Streamed;

/// Returns the whole report.
pub(crate) fn write(
    command: &str,
    facts: &Facts,
    growth: Option<&Growth>,
    streamed: &[Streamed],
    together: &[Together],
    stores: &[Measured],
) -> String {
    let mut text = String::from("# Benchmarks\n\n");
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    line(&mut text, format_args!("Written by this command on {now}:\n\n```sh\n{command}\n```\n"));
    line(
        &mut text,
        format_args!(
            "Times depend on the machine, above all on its syncs, and on what else it did meanwhile. Where \
             the spread is wide the medians say little, and only the ratios to the bare transactions can be \
             compared. A value is a median, with the tenth and the ninetieth percentile behind it.\n"
        ),
    );
    table(&mut text, "| what | value |\n|---|---|");
    for (name, value) in facts {
        line(&mut text, format_args!("| {name} | {value} |"));
    }
    if let Some(growth) = growth {
        one_session(&mut text, growth);
    }
    if !streamed.is_empty() {
        word_by_word(&mut text, streamed);
    }
    if !together.is_empty() {
        many_sessions(&mut text, together);
    }
    if !stores.is_empty() {
        stores::write(&mut text, stores);
    }
    text
}

fn one_session(text: &mut String, growth: &Growth) {
    line(
        text,
        format_args!(
            "\n## One session that grows\n\nEach step is one model answer, which comes at once, and one call of an `at_most_once` \
             tool with a result of 4 KB: two durable points. A step lasts until its last write is acknowledged; each is timed alone, \
             in a window around the step that is named. The first window is that of young sessions too, before and after the \
             one that grows; the first sessions of all warm up and are not told of. Bare: right after each step, for each of its \
             writes a transaction that inserts as many bytes into a table with one column, by the same library with the same \
             settings in the same folder. A ratio is that of one step to its own bare transactions.\n"
        ),
    );
    table(
        text,
        "| around step | ms a step | bare ms | ratio | CPU ms a step | bare CPU ms | bytes stored a step |\n\
         |---|---|---|---|---|---|---|",
    );
    for around in &growth.around {
        line(
            text,
            format_args!(
                "| {} | {} | {} | {} | {} | {} | {} |",
                around.step,
                around.step_ms,
                around.raw_ms,
                around.ratio,
                around.cpu_ms,
                around.raw_cpu_ms,
                around.stored_bytes
            ),
        );
    }
    if let (Some(first), Some(last)) = (growth.around.first(), growth.around.last()) {
        let [by_ratio, by_time, by_cpu] = &growth.last_over_first;
        line(
            text,
            format_args!(
                "\n- Step {} over step {}, a value for each repetition: {by_ratio} × by the ratios, {by_time} × by the times, \
                 {by_cpu} × by the processor's times.",
                last.step, first.step
            ),
        );
    }
    line(text, format_args!("- Transactions a step: {}.", growth.transactions));
    line(text, format_args!("- Bytes of payloads written a step: {}.", growth.payload_bytes));
    line(
        text,
        format_args!("- The file holds {} × the bytes of the transcripts.", growth.stored_over_logical),
    );
}

fn word_by_word(text: &mut String, streamed: &[Streamed]) {
    line(
        text,
        format_args!(
            "\n## An answer that comes word by word\n\nThe same steps, with a model that says so many words before its call, {} ms \
             apart. What it says is gathered and written for those who follow the session. That is provisional, and not \
             synced.\n",
            WORDS_APART.as_millis()
        ),
    );
    table(
        text,
        "| words | ms a step | CPU ms a step | transactions a step | of them synced | commit p50 ms | commit p99 ms |\n\
         |---|---|---|---|---|---|---|",
    );
    for with in streamed {
        let ms = |quantile| with.commit_us.value_at_quantile(quantile) as f64 / 1000.0;
        line(
            text,
            format_args!(
                "| {} | {} | {} | {} | {} | {:.2} | {:.2} |",
                with.words,
                with.step_ms,
                with.cpu_ms,
                with.transactions,
                with.synced,
                ms(0.5),
                ms(0.99),
            ),
        );
    }
}

fn many_sessions(text: &mut String, together: &[Together]) {
    line(
        text,
        format_args!(
            "\n## Many sessions at once\n\nThe same steps, so many sessions at a time, on one store in one process. A commit is timed \
             from its asking to its acknowledgement, over all repetitions. Bare: one writer that makes as many transactions of the \
             same group size, with as many bytes, after each run.\n"
        ),
    );
    table(
        text,
        "| sessions | steps each | steps/s | commit p50 ms | commit p99 ms | writes a transaction | bare steps/s | ratio |\n\
         |---|---|---|---|---|---|---|---|",
    );
    for with in together {
        let ms = |quantile| with.commit_us.value_at_quantile(quantile) as f64 / 1000.0;
        line(
            text,
            format_args!(
                "| {} | {} | {} | {:.2} | {:.2} | {} | {} | {:.2} |",
                with.sessions,
                with.steps,
                with.steps_per_s,
                ms(0.5),
                ms(0.99),
                with.writes_per_transaction,
                with.raw_steps_per_s,
                with.raw_steps_per_s.median() / with.steps_per_s.median(),
            ),
        );
    }
}

pub(crate) fn table(text: &mut String, head: &str) {
    line(text, format_args!("{head}"));
}

pub(crate) fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
