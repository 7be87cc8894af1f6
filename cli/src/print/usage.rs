//! Describes the usage of sessions and runs.

use holdover_core::machine::Usage;
use holdover_runtime_local::RunReport;

use super::counted;

/// Describes the whole usage in one line.
pub(crate) fn in_words(usage: &Usage) -> String {
    let Usage { tokens, cost_microusd, estimated_tokens, model_calls, tool_calls } = usage;
    let mut words = vec![
        counted(*model_calls, "model call"),
        counted(*tool_calls, "tool call"),
        format!(
            "{} in ({} cached, {} written to the cache)",
            counted(tokens.input, "token"),
            tokens.cached,
            tokens.cache_written
        ),
        format!("{} out ({} reasoning)", tokens.output, tokens.reasoning),
        cost(*cost_microusd),
    ];
    if *estimated_tokens > 0 {
        words.push(format!("{estimated_tokens} of the tokens are estimated"));
    }
    words.join(", ")
}

/// Describes the usage of a run briefly.
pub(crate) fn of_run(run: &RunReport) -> String {
    match run.usage {
        None => "it is not known what it used".to_owned(),
        Some(usage) => {
            let used =
                format!("used {}, {}", counted(usage.tokens.total(), "token"), cost(usage.cost_microusd));
            if run.is_whole {
                used
            } else {
                format!("{used} up to its last commit; what it used after that is not known")
            }
        }
    }
}

/// Returns a number of a run for a table. A `+` means "at least", because the run is open or was lost.
pub(crate) fn in_table(run: &RunReport, number: impl FnOnce(&Usage) -> String) -> String {
    match &run.usage {
        None => "–".to_owned(),
        Some(usage) if run.is_whole => number(usage),
        Some(usage) => format!("{}+", number(usage)),
    }
}

/// Returns an exact amount of money.
pub(crate) fn cost(microusd: u64) -> String {
    format!("${}.{:06}", microusd / 1_000_000, microusd % 1_000_000)
}

#[cfg(test)]
mod tests {
    use holdover_core::engine::RunKind;
    use holdover_core::model::TokenUsage;

    use super::*;

    fn used() -> Usage {
        let tokens = TokenUsage { input: 1_000, output: 25, cached: 600, cache_written: 100, reasoning: 5 };
        Usage { tokens, cost_microusd: 1_000_510, estimated_tokens: 24, model_calls: 2, tool_calls: 1 }
    }

    #[test]
    fn all_that_was_used_is_told_and_what_is_estimated() {
        assert_eq!(
            in_words(&used()),
            "2 model calls, 1 tool call, 1000 tokens in (600 cached, 100 written to the cache), 25 out (5 reasoning), \
             $1.000510, 24 of the tokens are estimated"
        );
    }

    #[test]
    fn what_a_run_used_that_died_is_told_as_far_as_it_is_known() {
        let mut run = RunReport { kind: RunKind::Execute, usage: Some(used()), is_whole: true };
        let tokens = |run: &RunReport| in_table(run, |usage| usage.tokens.total().to_string());
        assert_eq!((of_run(&run), tokens(&run)), ("used 1025 tokens, $1.000510".into(), "1025".into()));
        run.is_whole = false;
        assert_eq!(
            of_run(&run),
            "used 1025 tokens, $1.000510 up to its last commit; what it used after that is not known"
        );
        assert_eq!(tokens(&run), "1025+");
        run.usage = None;
        assert_eq!(tokens(&run), "–");
    }
}
