//! The one atomic write by which a run makes progress.

use holdover_store::ids::{Fence, InboxSeq, SessionKey, Version};
use holdover_store::payload::Payload;
use holdover_store::{Applied, Commit, CommitOutcome, NewMessage, Release};
use sqlx::postgres::PgRow;

use super::{bind_events, unknown_outcome};
use crate::call::{Call, Values, int};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, receipt_columns};

pub(crate) struct SaveState {
    pub(crate) fence: Fence,
    pub(crate) commit: Commit,
}

impl Call for SaveState {
    type Outcome = CommitOutcome;
    const OPERATION: &'static str = "commit";
    const PARAMETERS: usize = 40;
    const COLUMNS: &'static str =
        concat!("a.outcome, a.subject, a.subject_place, a.version, ", receipt_columns!());
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.fence.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let commit = &self.commit;
        to.fence(&self.fence)
            .add(commit.operation.as_str())
            .add(commit.expected_version.map(|version| int(version.0)))
            .add(commit.state.as_ref().map(|state| i64::from(state.format.0)))
            .payload_or_null(commit.state.as_ref().map(|state| &state.payload));
        self.bind_messages(to);
        to.add(commit.stage.iter().map(|result| result.call.as_str()).collect::<Vec<_>>())
            .payloads(commit.stage.iter().map(|result| Some(&result.payload)));
        bind_events(to, &commit.events);
        to.add(commit.checkpoint).add(commit.streamed.map(i64::from));
        self.bind_pending(to);
        to.add(commit.consumed.iter().map(|seq| int(seq.0)).collect::<Vec<_>>())
            .add(commit.inbox_seen.map(|seq| int(seq.0)))
            .add(commit.interrupt_confirmed.as_ref().map(|id| id.as_str()))
            .add(commit.run.as_ref().map(|run| run.outcome.as_str()))
            .payload_or_null(commit.run.as_ref().map(|run| &run.detail));
        self.bind_release(to);
        to.channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<CommitOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        let outcome = c.text()?;
        let applied = match outcome.as_str() {
            "stale_fence_yes" => Some(Applied::Yes),
            "stale_fence_no" => Some(Applied::No),
            "stale_fence_unknown" => Some(Applied::Unknown),
            _ => None,
        };
        if let Some(applied) = applied {
            return Ok(CommitOutcome::StaleFence { applied });
        }
        match outcome.as_str() {
            "answer_waiting" => return Ok(CommitOutcome::AnswerWaiting { pending: c.id()? }),
            "pending_conflict" => return Ok(CommitOutcome::PendingConflict { pending: c.id()? }),
            "not_staged" => return Ok(CommitOutcome::NotStaged { call: c.id()? }),
            "stage_conflict" => return Ok(CommitOutcome::StageConflict { call: c.id()? }),
            _ => c.text_or_null()?,
        };
        let (place, version) = (c.count_or_null()?, c.count_or_null()?);
        match (outcome.as_str(), place, version, self.commit.expected_version) {
            ("committed", _, _, _) => rows::receipt(&mut c).map(CommitOutcome::Committed),
            ("not_in_inbox", Some(seq), _, _) => Ok(CommitOutcome::NotInInbox { seq: self.named(seq) }),
            ("version_conflict", _, Some(actual), Some(expected)) => {
                Ok(CommitOutcome::VersionConflict { expected, actual: Version(actual) })
            }
            (other, _, _, _) => Err(unknown_outcome(other)),
        }
    }
}

impl SaveState {
    /// The item as the commit named it, which may lie beyond the numbers that Postgres keeps.
    fn named(&self, seq: u64) -> InboxSeq {
        let named = self.commit.consumed.iter().find(|named| int(named.0) == int(seq));
        named.copied().unwrap_or(InboxSeq(seq))
    }

    fn bind_messages(&self, to: &mut Values<'_>) {
        let messages = &self.commit.messages;
        let promoted = |message: &'_ NewMessage| match message {
            NewMessage::Promote(call) => Some(call.as_str().to_owned()),
            NewMessage::Inline(_) => None,
        };
        fn inline(message: &NewMessage) -> Option<&Payload> {
            match message {
                NewMessage::Inline(payload) => Some(payload),
                NewMessage::Promote(_) => None,
            }
        }
        to.add(messages.iter().map(promoted).collect::<Vec<_>>()).payloads(messages.iter().map(inline));
    }

    fn bind_pending(&self, to: &mut Values<'_>) {
        let (open, close) = (&self.commit.open, &self.commit.close);
        to.add(open.iter().map(|new| new.id.as_str()).collect::<Vec<_>>())
            .add(open.iter().map(|new| new.call.as_str()).collect::<Vec<_>>())
            .add(open.iter().map(|new| new.kind.as_str()).collect::<Vec<_>>())
            .add(open.iter().map(|new| i64::from(new.needed)).collect::<Vec<_>>())
            .add(open.iter().map(|new| new.deadline.map(|at| at.as_ms())).collect::<Vec<_>>())
            .payloads(open.iter().map(|new| Some(&new.body)))
            .add(close.iter().map(|id| id.as_str()).collect::<Vec<_>>());
    }

    fn bind_release(&self, to: &mut Values<'_>) {
        let (how, status, at, wake_on) = match &self.commit.release {
            None => (None, None, None, None),
            Some(Release::To { status, deadline, wake_on }) => {
                (Some("to"), Some(status.as_str()), *deadline, Some(i64::from(*wake_on)))
            }
            Some(Release::GiveBack { alarm }) => (Some("give_back"), None, *alarm, None),
        };
        to.add(how).add(status).add(at.map(|at| at.as_ms())).add(wake_on);
    }
}
