//! The parts of `--help` that are not about single options.

use std::fmt::Write as _;

use clap::Command;

use crate::left_out::Part;

/// The end of the top-level help.
pub(super) const AFTER: &str = "\
Examples:
  holdover demo                                    show a crash and its recovery; needs no API key
  holdover run agent.toml \"Tidy up the notes\"      start a session and run it here
  holdover sessions pending                        list the calls that wait for an answer
  holdover approve 01kaw3v9x2c4q8mn                approve the only waiting call, and continue
  holdover work                                    run every session that is due

Exit codes:
   0  completed        20  interrupted or aborted
   1  failed           21  step limit reached (max_turns)
   2  wrong use        22  token, cost or time limit reached (budget_exceeded)
  10  suspended        23  the model repeated the same calls (loop_detected)
  11  still running    130, 143  stopped at once by a signal

Exit code 10 means that the session waits, usually for somebody's answer; 11 means that the time of --wait was over. interrupt and abort exit with 20 if the session is stopped, and with 0 if its turn had already ended.

Stores:
  sqlite:PATH                     a file, for processes on one machine
  postgres://USER@HOST/DATABASE   a database, for many machines; ?schema=NAME [default: holdover]
  redis://HOST:PORT/DB            a server, for many machines; ?namespace=NAME [default: holdover]
  redis+cluster://HOST:PORT,…     a cluster, named by some of its nodes; ?namespace=NAME
  rediss://…, rediss+cluster://…  the same, over TLS

HOLDOVER_KEYS names a file with the keys that encrypt a store's payloads. The file must belong to you or to root, with mode 640 or stricter; docs/command-line.md describes its contents.

A password in a URL is never printed. Printed commands have *** in its place, or no --store at all if HOLDOVER_STORE names the store. On most machines, other users can see command lines: put a password into HOLDOVER_STORE, or for Postgres into PGPASSWORD or ~/.pgpass.

With --json, each line is one object. The last line of a command that runs a session is {\"session\": …, \"outcome\": {\"kind\": …}}. The outcome is null if the session was left where it is. If the turn has ended, the line also has \"response\" {\"stop_reason\", \"reason\", \"text\", \"steps\", \"error\", \"failed_in\"}. A message that was delivered has its number as \"item\" (holdover sessions turn). If the --key was used before, the line also has \"duplicate\": true. Instants are milliseconds since 1970-01-01T00:00:00Z.
HOLDOVER_LOG sets what is logged to standard error: error, warn, info, debug, or a tracing filter.
NO_COLOR turns colours off.";

pub(super) const RETRY: &str = "\
Examples:
  holdover retry notes
  holdover retry notes --model openai:gpt-5";

pub(super) const INTERRUPT: &str = "\
Examples:
  holdover interrupt notes
  holdover interrupt notes --reason \"wrong folder\" --detach
  holdover interrupt notes --call c3-1     stop only this call";

pub(super) const ABORT: &str = "\
Examples:
  holdover abort notes --reason \"not needed any more\"";

pub(super) const SHOW: &str = "\
Examples:
  holdover sessions show notes
  holdover sessions show notes --json
  holdover sessions show notes --follow     print each change of its state";

pub(super) const MESSAGES: &str = "\
Examples:
  holdover sessions messages notes
  holdover sessions messages notes --json";

pub(super) const CHILDREN: &str = "\
States of a child: works (it works, or is about to), waits (for people or clients), done (its last turn did its task), failed (its last turn did not), stopped (permanently), gone (it does not exist).

Examples:
  holdover sessions children notes
  holdover sessions children notes --json";

pub(super) const RUNS: &str = "\
Examples:
  holdover sessions runs notes";

pub(super) const CHECKPOINTS: &str = "\
There is a checkpoint after each step, and wherever a run parked or the turn ended.

Examples:
  holdover sessions checkpoints notes";

pub(super) const QUEUE: &str = "\
Examples:
  holdover sessions queue notes
  holdover sessions queue notes --json";

pub(super) const HISTORY: &str = "\
Folding these rows from the start gives the session's state; nothing else changes it. --after takes the number of a row.

Examples:
  holdover sessions history notes
  holdover sessions history notes --json
  holdover sessions history notes --after 12     the machine as it was after row 12";

pub(super) const REPLAY: &str = "\
Exit code 1 if the states differ, or if the rows do not fit together.

Examples:
  holdover sessions replay notes";

pub(super) const KEYS: &str = "\
Reads all data of the sessions of one tenant, page by page, and decrypts nothing. A key with a count above 0 is in use. Remove a key only when its count is 0 in every tenant. Exit code 1 if a key in use is not in the file that HOLDOVER_KEYS names.

Examples:
  holdover keys status
  holdover keys status --tenant acme --json";

/// The part of the top-level help about passwords for Postgres.
const FOR_POSTGRES: &str = ", or for Postgres into PGPASSWORD or ~/.pgpass";

/// The commands in groups, in the order in which a user needs them.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Run", &["run", "send", "resume", "retry", "compact", "work", "schedules", "serve", "mcp", "tokens"]),
    ("Answer and stop", &["approve", "deny", "answer", "signal", "settle", "interrupt", "abort"]),
    ("Look", &["sessions", "dead", "events", "skills", "doctor", "keys"]),
    ("Learn and set up", &["demo", "machine", "conformance", "completions", "help"]),
];

/// Returns true if this build has the command. A command of an optional part may be missing.
fn is_here(name: &str) -> bool {
    Part::ALL.iter().all(|part| !part.commands().contains(&name) || part.is_built())
}

/// Removes the lines of help about stores that this build leaves out. Such lines are list items that name a URL.
pub(super) fn only_what_is_here(mut command: Command) -> Command {
    let left_out: Vec<Part> = Part::ALL.into_iter().filter(|part| !part.is_built()).collect();
    let is_about = |line: &str| left_out.iter().flat_map(|part| part.schemes()).any(|url| line.contains(url));
    if let Some(help) = command.get_after_help() {
        let help = help.to_string();
        let kept: Vec<&str> =
            help.lines().filter(|line| !(line.starts_with("  ") && is_about(line))).collect();
        let mut help = kept.join("\n");
        if !Part::Postgres.is_built() {
            help = help.replace(FOR_POSTGRES, "");
        }
        command = command.after_help(help);
    }
    command.mut_subcommands(only_what_is_here)
}

/// Shows the subcommands of `command` in groups.
pub(super) fn grouped(command: Command) -> Command {
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{title}:");
        for name in names.iter().filter(|name| is_here(name)) {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(|| "Print help for a command".to_owned(), ToString::to_string);
            let _ = writeln!(text, "  {name:<12} {about}");
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{text}\nOptions:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Cli;
    use super::*;

    /// Splits a line into words like a shell.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '"' | '\'') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, ' ') => words.extend(word.take()),
                (_, c) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    /// Returns all examples of a help text, without other programs in a pipe and without comments.
    fn examples(help: &str) -> Vec<Vec<String>> {
        let Some((_, rest)) = help.split_once("Examples:\n") else { return Vec::new() };
        let lines = rest.lines().take_while(|line| line.starts_with("  "));
        lines
            .flat_map(|line| line.trim().split(" | ").flat_map(|part| part.split(" && ")))
            .filter(|part| part.starts_with("holdover"))
            .map(|part| {
                let line = part.split("   ").next().unwrap_or_default();
                let line = line.split(" > ").next().unwrap_or_default();
                words(line.split(" < ").next().unwrap_or_default())
            })
            .collect()
    }

    fn check(command: &mut Command, path: &str, found: &mut usize) {
        let help = command.render_long_help().to_string();
        let examples = examples(&help);
        let is_group = command.get_subcommands().next().is_some();
        assert!(!examples.is_empty() || is_group, "{path} has no example:\n{help}");
        for example in examples {
            *found += 1;
            if let Err(error) = Cli::try_parse_from(&example) {
                panic!("{path}: {example:?}: {error}");
            }
        }
        for inner in command.get_subcommands_mut().filter(|inner| inner.get_name() != "help") {
            let path = format!("{path} {}", inner.get_name());
            check(inner, &path, found);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_example_is_read() {
        let mut command = Cli::described();
        command.build();
        let mut found = 0;
        check(&mut command, "holdover", &mut found);
        assert!(found > 30, "{found} examples");
    }

    /// Collects lines that end in the middle of a sentence. Terminals of other widths would break such lines again.
    fn cut_lines(command: &Command, found: &mut Vec<String>) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.windows(2) {
            let [line, next] = pair else { continue };
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            if is_prose(line) && is_prose(next) && !line.ends_with(['.', ':']) {
                found.push((*line).to_owned());
            }
        }
        command.get_subcommands().for_each(|inner| cut_lines(inner, found));
    }

    #[test]
    fn a_paragraph_of_help_is_one_line() {
        let mut command = Cli::described();
        command.build();
        let mut found = Vec::new();
        cut_lines(&command, &mut found);
        assert_eq!(found, Vec::<String>::new());
    }

    /// Returns the section of docs/command-line.md with the heading `title`.
    fn on_page(title: &str) -> Option<&'static str> {
        let page = include_str!("../../../docs/command-line.md");
        let (_, rest) = page.split_once(&format!("\n### {title}\n"))?;
        Some(rest.split_once("\n#").map_or(rest, |(part, _)| part))
    }

    /// Collects the commands without subcommands, each with its words, its own options and the global options.
    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Vec<String>, Vec<String>)>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let path = format!("{path}{}", inner.get_name());
            if inner.has_subcommands() {
                leaves(inner, &format!("{path} "), found);
                continue;
            }
            let (mut own, mut all) = (Vec::new(), Vec::new());
            for option in inner.get_arguments() {
                let names = option.get_long_and_visible_aliases().unwrap_or_default();
                let names: Vec<String> = names.into_iter().map(|name| format!("--{name}")).collect();
                if !option.is_global_set() && !["help", "version"].contains(&option.get_id().as_str()) {
                    own.extend(names.clone());
                }
                all.extend(names);
            }
            found.push((path, own, all));
        }
    }

    #[test]
    fn the_page_of_the_command_line_has_every_command_with_its_options_and_no_others() {
        let mut command = Cli::described();
        command.build();
        let mut found = Vec::new();
        leaves(&command, "", &mut found);
        assert!(found.len() > 30, "{} commands", found.len());
        for (path, own, all) in found {
            let part = on_page(&path).unwrap_or_else(|| panic!("docs/command-line.md has no {path}"));
            let named = part.split('`').skip(1).step_by(2).flat_map(|code| code.split([' ', '[', '=']));
            let named: Vec<&str> = named.filter(|word| word.starts_with("--")).collect();
            for option in &own {
                assert!(
                    named.contains(&option.as_str()),
                    "docs/command-line.md: {path}: {option} is missing"
                );
            }
            for word in named {
                assert!(
                    all.iter().any(|option| option == word),
                    "docs/command-line.md: {path} has no {word}"
                );
            }
        }
    }

    #[test]
    fn every_command_stands_in_one_group() {
        let command = Cli::described();
        let mut shown: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).filter(|name| is_here(name)).collect();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        known.push("help");
        shown.sort_unstable();
        known.sort_unstable();
        assert_eq!(shown, known);
    }
}
