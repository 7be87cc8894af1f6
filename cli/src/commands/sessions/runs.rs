//! `sessions runs`.

use holdover_core::ids::SessionKey;
use holdover_core::step::{RunDetail, RunKind};
use holdover_core::store::{PageRequest, RunRecord};
use holdover_core::words;

use crate::args::One;
use crate::exit::Failure;
use crate::front::Front;
use crate::print::{inline, instant, json};

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
        "{:>4}  {:<8}  {:<20}  {:>9}  {:<worker$}  {:<11}  {:>8}  OUTCOME",
        "RUN", "KIND", "STARTED", "TOOK", "WORKER", "BEFORE", "TOKENS"
    );
    front.out.line(front.out.dim(&head));
    for (run, kind) in &runs {
        front.out.object(&json::run(run, *kind));
        let (took, outcome) = match &run.end {
            Some(end) => (
                format!("{:.1} s", run.started_at.until(end.at).as_secs_f64()),
                words::outcome(end.outcome).to_owned(),
            ),
            None => (String::from("–"), String::from("runs, or died")),
        };
        let used = RunDetail::of(run).map(|detail| detail.usage.tokens.total().to_string());
        front.out.line(format!(
            "{:>4}  {:<8}  {:<20}  {took:>9}  {:<worker$}  {:<11}  {:>8}  {outcome}",
            run.epoch.0,
            kind.as_str(),
            instant(run.started_at),
            inline(run.worker.as_str()),
            words::status(run.found),
            used.as_deref().unwrap_or("–"),
        ));
    }
    Ok(())
}

/// Every run of `key`, oldest first, and what it was begun for.
pub(super) async fn all_runs(front: &Front, key: &SessionKey) -> Result<Vec<(RunRecord, RunKind)>, Failure> {
    let mut runs = Vec::new();
    let mut page = PageRequest::default();
    loop {
        let found = front.runtime.runs(key, page).await?;
        runs.extend(found.items);
        match found.next {
            Some(next) => page = PageRequest { after: Some(next), limit: None },
            None => break,
        }
    }
    let kinds = front.runtime.run_kinds(key, &runs).await?;
    Ok(runs.into_iter().zip(kinds).collect())
}
