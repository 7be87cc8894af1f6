//! The comparison of the stores, as Markdown.

use super::load::BYTES;
use super::{Measured, Speed};
use crate::report::{line, table};

/// Adds a section with a table of speeds and one of settings.
pub(crate) fn write(text: &mut String, stores: &[Measured]) {
    line(
        text,
        format_args!(
            "\n## The stores\n\nCommits of {BYTES} bytes of payload (a message of 4 KB, a state of 1 KB, an event), so many sessions \
             at once, each session one commit after the other, timed from the asking to the acknowledgement. Bare: as many tasks, each one \
             insert of as many bytes after the other, in the same run, on the same server or file system with the same settings; SQLite \
             with a transaction for all inserts that wait, as its store makes one for all commits that wait, Postgres with a statement for each \
             and as many connections as the store has ({}), Redis with a `SET` for each on one shared connection, as the store has. A \
             ratio above 1 says that bare inserts are so many times as fast.\n",
            holdover::store::PostgresOptions::CONNECTIONS_MAX
        ),
    );
    table(
        text,
        "| store | sessions | commits/s | p50 ms | p99 ms | bare inserts/s | bare p50 ms | bare p99 ms | ratio |\n\
         |---|---|---|---|---|---|---|---|---|",
    );
    for store in stores {
        for row in &store.rows {
            let ms = |speed: &Speed, quantile| speed.us.value_at_quantile(quantile) as f64 / 1000.0;
            line(
                text,
                format_args!(
                    "| {} | {} | {} | {:.2} | {:.2} | {} | {:.2} | {:.2} | {:.2} |",
                    store.backend,
                    row.sessions,
                    row.commits.per_s,
                    ms(&row.commits, 0.5),
                    ms(&row.commits, 0.99),
                    row.bare.per_s,
                    ms(&row.bare, 0.5),
                    ms(&row.bare, 0.99),
                    row.bare.per_s.median() / row.commits.per_s.median(),
                ),
            );
        }
    }
    line(text, format_args!(""));
    table(text, "| store | settings |\n|---|---|");
    for store in stores {
        let settings: Vec<String> =
            store.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        line(text, format_args!("| {} | {} |", store.backend, settings.join(", ")));
    }
}
