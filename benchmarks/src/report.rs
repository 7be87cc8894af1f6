//! What was measured, as Markdown.

use std::fmt::Write as _;

use crate::growth::Growth;
use crate::machine::Facts;
use crate::sessions::Together;

/// The whole report.
pub(crate) fn write(command: &str, facts: &Facts, growth: Option<&Growth>, together: &[Together]) -> String {
    let mut text = String::from("# Benchmarks\n\n");
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    line(&mut text, format_args!("Written by this command on {now}:\n\n```sh\n{command}\n```\n"));
    line(
        &mut text,
        format_args!(
            "Times depend on the machine, above all on its syncs, and on what else it did meanwhile. Where \
             the spread is wide the medians say little, and only the ratios to the bare transactions, \
             which were made in turn with the rest, can be compared. A value is a median, with the tenth \
             and the ninetieth percentile behind it.\n"
        ),
    );
    table(&mut text, "| what | value |\n|---|---|");
    for (name, value) in facts {
        line(&mut text, format_args!("| {name} | {value} |"));
    }
    if let Some(growth) = growth {
        one_session(&mut text, growth);
    }
    if !together.is_empty() {
        many_sessions(&mut text, together);
    }
    text
}

fn one_session(text: &mut String, growth: &Growth) {
    line(
        text,
        format_args!(
            "\n## One session that grows\n\nEach step is one model answer, which comes at once, and one call of an `at_most_once` \
             tool with a result of 4 KB: two durable points. Each step is timed alone, in a window around the step that is named. \
             Bare: as many transactions, in one of which as many bytes are inserted into a table with one column, by the same \
             library with the same settings in the same folder, after each session.\n"
        ),
    );
    table(
        text,
        "| around step | ms a step | bare ms | ratio | CPU ms a step | bare CPU ms | bytes stored a step |\n\
         |---|---|---|---|---|---|---|",
    );
    for around in &growth.around {
        let ratio = around.step_ms.median() / around.raw_ms.median();
        line(
            text,
            format_args!(
                "| {} | {} | {} | {ratio:.2} | {} | {} | {} |",
                around.step,
                around.step_ms,
                around.raw_ms,
                around.cpu_ms,
                around.raw_cpu_ms,
                around.stored_bytes
            ),
        );
    }
    if let (Some(first), Some(last)) = (growth.around.first(), growth.around.last()) {
        let times = last.step_ms.median() / first.step_ms.median();
        line(text, format_args!("\n- Step {} takes {times:.2} × as long as step {}.", last.step, first.step));
    }
    line(text, format_args!("- Transactions a step: {}.", growth.transactions));
    line(text, format_args!("- Bytes of payloads written a step: {}.", growth.payload_bytes));
    line(
        text,
        format_args!("- The file holds {} × the bytes of the transcript.", growth.stored_over_logical),
    );
}

fn many_sessions(text: &mut String, together: &[Together]) {
    line(
        text,
        format_args!(
            "\n## Many sessions at once\n\nThe same steps, so many sessions at a time, on one store in one process. A commit is timed \
             from its asking to its acknowledgement, over all repetitions. Bare: one writer that makes as many transactions of the \
             same group size, with as many bytes.\n"
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

fn table(text: &mut String, head: &str) {
    line(text, format_args!("{head}"));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a string does not fail.
    let _ = writeln!(text, "{line}");
}
