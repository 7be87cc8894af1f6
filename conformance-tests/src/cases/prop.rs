//! Random scripts, on the store and on the model of its contract.

mod compare;
mod regressions;
mod search;

use crate::bench::Bench;
use crate::case::cases;
use crate::failure::{CaseResult, ensure};
use crate::script::Coverage;

use compare::{Compare, Story, play};
use regressions::REGRESSIONS;
use search::{Until, search};

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
    search(&t, Compare::Rows, Story::Straight, Until::Played, Coverage::default()).await.map(drop)
}

async fn reopen_at_any_point_equivalence(t: Bench) -> CaseResult {
    search(&t, Compare::Rows, Story::Reopened, Until::Played, Coverage::default()).await.map(drop)
}

/// The kept scripts, then those of the comparison by their answers alone, and more until everything was
/// reached.
async fn op_outcome_coverage_gate(t: Bench) -> CaseResult {
    let kept = play_kept(&t, Compare::Answers).await?;
    let (powers, reached) = search(&t, Compare::Answers, Story::Straight, Until::Covered, kept).await?;
    let (missing, undeclared) = (reached.missing(powers), reached.undeclared());
    ensure!(missing.is_empty(), "expected every answer to occur\n    found none of {missing:?}");
    ensure!(undeclared.is_empty(), "expected only answers that are declared\n    found {undeclared:?}");
    Ok(())
}

async fn regression_scripts(t: Bench) -> CaseResult {
    play_kept(&t, Compare::Rows).await.map(drop)
}

async fn play_kept(t: &Bench, compare: Compare) -> CaseResult<Coverage> {
    let mut reached = Coverage::default();
    for (name, script) in REGRESSIONS {
        let played = play(t.another().await, &script(), compare, Story::Straight, &mut reached).await;
        played.result.map_err(|failure| failure.within(name))?;
    }
    Ok(reached)
}
