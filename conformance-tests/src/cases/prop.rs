//! Random scripts, run on the store and on the model of its contract.

mod compare;
mod regressions;
mod search;

use super::prelude::*;
use crate::script::{Coverage, Script, cover};
use compare::{Compare, Story, play};
use regressions::REGRESSIONS;
use search::search;

cases! {
    prop.sequential_model_equivalence: Core Property,
        "whatever is asked in whatever order, every answer and every row is that of the contract's model",
        "a sequence that nobody thought of would leave a session as nobody expects it",
        "StateStore: the decisions are those of store::rules, over rows that only its methods change";
    prop.reopen_at_any_point_equivalence: Durable Property,
        "closing and opening the store again anywhere in a script changes no answer and no row",
        "what a handle keeps in its memory would be part of the session, until the process ends",
        "Capabilities::commit_survives: what was answered is there when the data is opened again (INV-01)";
    prop.op_outcome_coverage_gate: Core Property,
        "the scripts reach every answer of every operation, so that the comparison says something about each",
        "a comparison that never refuses a commit proves nothing of refusals",
        "every variant of every outcome; what no script reaches is listed with a reason";
    prop.regression_scripts: Core Property,
        "scripts that told stores apart once, and those that are easily got wrong, still agree with the model",
        "what was wrong once is wrong again",
        "StateStore: as the model";
}

async fn sequential_model_equivalence(t: Bench) -> CaseResult {
    search(&t, Story::Straight).await
}

async fn reopen_at_any_point_equivalence(t: Bench) -> CaseResult {
    search(&t, Story::Reopened).await
}

/// Plays the kept scripts, then scripts chosen for the answers that the kept ones do not reach.
async fn op_outcome_coverage_gate(t: Bench) -> CaseResult {
    let mut reached = Coverage::default();
    play_kept(&t, Compare::Answers, &mut reached).await?;
    let (seed, powers) = (t.seed(), t.powers());
    let choosing = tokio::task::spawn_blocking(move || {
        let kept: Vec<Script> = REGRESSIONS.iter().map(|(_, script)| script()).collect();
        cover(seed, powers, &kept)
    });
    let chosen = choosing.await.map_err(|error| Failure::new(format!("no scripts were chosen: {error}")))?;
    let missing = chosen.missing;
    ensure!(missing.is_empty(), "expected scripts that reach every answer", found = "none for {missing:?}");
    for script in chosen.scripts {
        t.forget_history();
        let played = play(t.another().await, &script, Compare::Answers, Story::Straight, &mut reached).await;
        played
            .result
            .map_err(|failure| failure.followed_by(&format!("  the script:\n{}", script.as_code())))?;
    }
    let (missing, undeclared) = (reached.missing(powers), reached.undeclared());
    ensure!(missing.is_empty(), "expected the store to give every answer", found = "none of {missing:?}");
    ensure!(undeclared.is_empty(), "expected only answers that are declared", found = "{undeclared:?}");
    Ok(())
}

async fn regression_scripts(t: Bench) -> CaseResult {
    play_kept(&t, Compare::Rows, &mut Coverage::default()).await
}

async fn play_kept(t: &Bench, compare: Compare, reached: &mut Coverage) -> CaseResult {
    for (name, script) in REGRESSIONS {
        t.forget_history();
        let played = play(t.another().await, &script(), compare, Story::Straight, reached).await;
        played.result.map_err(|failure| failure.within(name))?;
    }
    Ok(())
}
