//! One run of the suite, until its end or until a stop signal.

use std::sync::Arc;

use holdover_conformance_tests::{Report, StoreHarness, Suite};
use serde_json::json;

use super::watch::Watch;
use crate::args::{Common, Conformance};
use crate::exit::Failure;
use crate::print::{Out, counted, note};
use crate::signals::Signals;
use crate::store::{Kind, StoreUrl};

/// A requested run of the suite.
pub(super) struct Run<'a> {
    pub(super) common: &'a Common,
    pub(super) args: &'a Conformance,
    /// True if a report uses standard output.
    pub(super) output_taken: bool,
    pub(super) signals: &'a mut Signals,
}

impl Run<'_> {
    /// Runs the suite on the harnesses that `make` makes, until its end or until a stop signal. After the signal,
    /// running cases end first, unless there is a second signal. Then the result is a failure.
    pub(super) async fn on<H: StoreHarness>(
        self,
        make: impl Fn() -> H + Send + Sync + 'static,
    ) -> Result<Report, Failure> {
        let watch = Watch::new();
        let (watched, told) = (Arc::clone(&watch), Arc::clone(&watch));
        let suite = self.asked(Suite::new(move || watched.harness(&make)));
        let suite = suite.on_case(move |progress| told.tell(&progress));
        let out = if self.output_taken { Out::new(self.common) } else { Out::for_people() };
        let told = tokio::select! {
            report = suite.run() => return Ok(report),
            told = self.signals.next() => told,
            never = watch.draw(&out), if !self.output_taken => match never {},
        };
        note("stopping once the cases that run have ended; again stops at once");
        let told = tokio::select! {
            () = watch.stop() => told,
            again = self.signals.next() => again,
        };
        let begun = watch.begun();
        out.object(&json!({ "stopped": true, "begun": begun }));
        Err(Failure {
            exit: told.exit(),
            line: format!("the suite was stopped: {} had begun, none is judged", counted(begun, "case")),
        })
    }

    /// Configures the suite according to the command line.
    fn asked<H: StoreHarness>(&self, suite: Suite<H>) -> Suite<H> {
        let Self { common, args, .. } = self;
        let mut suite = suite
            .seed(args.seed)
            .command(format!("holdover conformance --store {}", for_others(&common.store)));
        if let Some(level) = args.level {
            suite = suite.level(level);
        }
        if let Some(filter) = &args.filter {
            suite = suite.filter(filter);
        }
        if let Some(scripts) = args.scripts {
            suite = suite.scripts(scripts);
        }
        if let Some(kills) = args.kills {
            suite = suite.kills(kills);
        }
        if let Some(jobs) = args.jobs {
            suite = suite.jobs(jobs.get());
        }
        suite
    }
}

/// Returns the URL for a page that others read. The address of a server is left out, so that they can fill in their
/// own.
fn for_others(url: &StoreUrl) -> String {
    let tls = url.secret().starts_with("rediss");
    match url.kind() {
        Ok(Kind::Postgres) => "postgres://…".to_owned(),
        Ok(Kind::Redis) => if tls { "rediss://…" } else { "redis://…" }.to_owned(),
        Ok(Kind::RedisCluster) => if tls { "rediss+cluster://…" } else { "redis+cluster://…" }.to_owned(),
        Ok(Kind::Sqlite(_)) | Err(_) => url.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_not_told_where_a_server_is() {
        let shown = |url: &str| for_others(&StoreUrl::from(url.to_owned()));
        assert_eq!(shown("postgres://u:secret@h:1/d"), "postgres://…");
        assert_eq!(shown("sqlite:a.db"), "sqlite:a.db");
        assert_eq!(
            (shown("redis://h"), shown("rediss://u:secret@h")),
            ("redis://…".into(), "rediss://…".into())
        );
        assert_eq!(shown("redis+cluster://h:1"), "redis+cluster://…");
        assert_eq!(shown("rediss+cluster://h:1"), "rediss+cluster://…");
    }
}
