//! `sessions runs`: lists the runs of a session.

use holdover_core::ids::SessionKey;
use holdover_core::phrases;
use holdover_core::store::RunRecord;
use holdover_runtime_local::RunReport;

use crate::args::One;
use crate::exit::Failure;
use crate::front::Front;
use crate::pages::each_of;
use crate::print::{inline, instant, json, usage};

/// Lists the runs of a session, oldest first.
pub(super) async fn runs(front: &Front, args: &One) -> Result<(), Failure> {
    let session = front.session(&args.session).await?;
    let runs = all_runs(front, &session.key).await?;
    if runs.is_empty() {
        front.out.line(front.out.dim("no runs"));
        return Ok(());
    }
    let worker =
        runs.iter().map(|(run, _)| run.worker.as_str().chars().count()).max().unwrap_or_default().max(6);
    let head = format!(
        "{:>4}  {:<8}  {:<20}  {:>9}  {:<worker$}  {:<11}  {:>8}  {:>10}  OUTCOME",
        "RUN", "KIND", "STARTED", "TOOK", "WORKER", "BEFORE", "TOKENS", "COST"
    );
    front.out.line(front.out.dim(&head));
    for (run, report) in &runs {
        front.out.object(&json::run(run, report));
        let (took, outcome) = match &run.end {
            Some(end) => (
                format!("{:.1} s", run.started_at.until(end.at).as_secs_f64()),
                phrases::outcome(end.outcome).to_owned(),
            ),
            None => (String::from("–"), String::from("runs, or died")),
        };
        let tokens = usage::in_table(report, |usage| usage.tokens.total().to_string());
        let cost = usage::in_table(report, |usage| usage::cost(usage.cost_microusd));
        front.out.line(format!(
            "{:>4}  {:<8}  {:<20}  {took:>9}  {:<worker$}  {:<11}  {tokens:>8}  {cost:>10}  {outcome}",
            run.epoch.0,
            report.kind.as_str(),
            instant(run.started_at),
            inline(run.worker.as_str()),
            phrases::status(run.found),
        ));
    }
    Ok(())
}

/// Returns every run of `key`, oldest first, with its report.
pub(super) async fn all_runs(
    front: &Front,
    key: &SessionKey,
) -> Result<Vec<(RunRecord, RunReport)>, Failure> {
    let mut runs = Vec::new();
    each_of(async |page| front.runtime.runs(key, page).await, |run| runs.push(run)).await?;
    let reports = front.runtime.run_reports(key, &runs).await?;
    Ok(runs.into_iter().zip(reports).collect())
}
