//! Kills a process that has the store open.
//!
//! Requirements: H12.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use super::prelude::*;
use crate::child::{self, ROUND, SAYS};
use crate::random::drawn;

cases! {
    crash.sigkill_acked_is_durable: Durable Crash needs ChildProcess,
        "what a process was acknowledged before it was killed is there, byte for byte",
        "an effect that was acknowledged would be done again, or its result lost",
        "CommitSurvives::ProcessKill: the death of the process that wrote it, at any instruction (INV-01)";
    crash.sigkill_never_partial_commit: Durable Crash needs ChildProcess,
        "a process that is killed at any instant leaves a commit whole or not at all, and no lock",
        "a session with half a commit is one that no run has left so",
        "StateStore: a write is applied wholly or not at all, and nothing stays locked (INV-04, INV-05)";
}

/// The maximum number of acknowledgements before an immediate kill. Rounds cycle from 1 to this number.
const ACKNOWLEDGED_MAX: u64 = 5;
/// One in this many random kills is aimed at a commit in progress: less than `COMMIT_TIME_MAX` after the child reported
/// it.
const COMMITS_EVERY: u64 = 4;
const COMMIT_TIME_MAX: Duration = Duration::from_millis(1);
/// The maximum number of extra kills during a commit, until one hits an open commit.
const COMMIT_KILLS_MAX: u64 = 200;
/// The maximum random time from an acknowledgement to the kill.
const INSTANT_MAX: Duration = Duration::from_millis(12);

async fn sigkill_acked_is_durable(t: Bench) -> CaseResult {
    let acknowledged = |round| 1 + round % ACKNOWLEDGED_MAX;
    sweep(&t, |round| When { acknowledged: acknowledged(round), in_commit: false, then: Duration::ZERO })
        .await
}

/// Requirements: H12.
async fn sigkill_never_partial_commit(t: Bench) -> CaseResult {
    let seed = t.seed();
    sweep(&t, |round| {
        let drawn = drawn(seed, round);
        let in_commit = round.is_multiple_of(COMMITS_EVERY);
        let then_max = if in_commit { COMMIT_TIME_MAX } else { INSTANT_MAX };
        let micros = u64::try_from(then_max.as_micros()).unwrap_or(u64::MAX);
        When { acknowledged: drawn % 3, in_commit, then: Duration::from_micros((drawn >> 8) % micros) }
    })
    .await
}

/// The moment at which a child is killed.
struct When {
    /// The number of acknowledgements before the kill.
    acknowledged: u64,
    /// Set if the kill also waits until the child reports that it begins the next commit.
    in_commit: bool,
    /// The additional delay before the kill, in real time.
    then: Duration,
}

/// Kills a child in each round. If no round hit an open commit, kills some more, since nothing can predict whether a
/// commit is still open when the signal arrives.
async fn sweep(t: &Bench, when: impl Fn(u64) -> When) -> CaseResult {
    let kills = u64::from(t.settings().kills.get());
    let mut in_commit = 0;
    for round in 0..kills {
        in_commit += u64::from(kill_and_check(t, round, when(round)).await?);
    }
    let more = kills..kills + COMMIT_KILLS_MAX;
    for round in more {
        if in_commit > 0 {
            break;
        }
        let when = When { in_commit: true, then: Duration::ZERO, ..when(round) };
        in_commit += u64::from(kill_and_check(t, round, when).await?);
    }
    let all = kills + COMMIT_KILLS_MAX;
    ensure!(in_commit > 0, "expected a kill while a commit was out", found = "none in {all} kills");
    Ok(())
}

/// Kills a child and checks what it leaves behind. Returns true if a commit was open.
async fn kill_and_check(t: &Bench, round: u64, when: When) -> CaseResult<bool> {
    let Some(command) = t.child() else {
        return Err(Failure::not_run("the harness starts no child process"));
    };
    let killed = tokio::task::spawn_blocking(move || kill(command, round, &when)).await;
    let killed = killed.map_err(|error| Failure::new(format!("no child was killed: {error}")))??;
    check(t, round, &killed).await.map_err(|failure| {
        let Killed { acknowledged, asked } = &killed;
        failure.within(format!("round {round}, {acknowledged:?} acknowledged, killed while asking {asked}"))
    })?;
    Ok(killed.in_commit())
}

/// The progress of a child before the kill.
struct Killed {
    /// The number of the child's last acknowledged commit. 0 is the creation, and `None` means that nothing was
    /// acknowledged.
    acknowledged: Option<u64>,
    /// The child's last request.
    asked: String,
}

impl Killed {
    /// Returns true if a requested commit was not acknowledged.
    fn in_commit(&self) -> bool {
        let next = self.acknowledged.map(|nth| format!("commit {}", nth + 1));
        next.is_some_and(|next| self.asked == next)
    }
}

/// Starts a child and kills it.
fn kill(mut command: Command, round: u64, when: &When) -> CaseResult<Killed> {
    let failed = |what: &str, error: std::io::Error| Failure::new(format!("the child {what}: {error}"));
    command.env(ROUND, round.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed("does not start", error))?;
    let killed = (|| {
        let out = child.stdout.take().ok_or_else(|| Failure::new("the child has no output"))?;
        let far = Killed { acknowledged: None, asked: String::new() };
        let mut said = Said { lines: BufReader::new(out).lines(), far };
        while !said.reaches(when) {
            if !said.read_one() {
                let found = format!("found    that it ended while asking {}", said.far.asked);
                return Err(Failure::new(format!(
                    "expected the child to write until it is killed\n    {found}"
                )));
            }
        }
        std::thread::sleep(when.then);
        child.kill().map_err(|error| failed("cannot be killed", error))?;
        // Lines that the child wrote before the kill count.
        while said.read_one() {}
        Ok(said.far)
    })();
    let ended = end(&mut child).map_err(|error| failed("cannot be waited for", error))?;
    let killed = killed?;
    ensure!(was_killed(ended), "expected the child to die of the kill", found = "{ended}");
    Ok(killed)
}

fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    // The child may be dead already.
    let _ = child.kill();
    child.wait()
}

#[cfg(unix)]
fn was_killed(ended: ExitStatus) -> bool {
    const SIGKILL: i32 = 9;
    std::os::unix::process::ExitStatusExt::signal(&ended) == Some(SIGKILL)
}

#[cfg(not(unix))]
fn was_killed(ended: ExitStatus) -> bool {
    !ended.success()
}

struct Said {
    lines: Lines<BufReader<ChildStdout>>,
    far: Killed,
}

impl Said {
    fn reaches(&self, when: &When) -> bool {
        let acknowledged = self.far.acknowledged.is_some_and(|nth| nth >= when.acknowledged);
        acknowledged && (!when.in_commit || self.far.in_commit())
    }

    /// Reads one line. Returns false at the end of the output.
    fn read_one(&mut self) -> bool {
        let Some(Ok(line)) = self.lines.next() else { return false };
        // A test program also prints its own lines, and not always with a line break.
        let Some((_, said)) = line.split_once(SAYS) else { return true };
        match said.trim().split_once(' ') {
            Some(("acknowledged", nth)) => self.far.acknowledged = nth.parse().ok(),
            Some(_) => said.trim().clone_into(&mut self.far.asked),
            None => {}
        }
        true
    }
}

/// Checks what another handle finds after the kill: the acknowledged commits, and at most one more.
async fn check(t: &Bench, round: u64, killed: &Killed) -> CaseResult {
    let (key, fence) = (child::session_key(round), child::fence(round));
    let store = t.peer().await;
    let found = snapshot(&store, &key).await?;
    let Some(acknowledged) = killed.acknowledged else { return Ok(()) };
    let there = found.events.len() as u64;
    ensure!(
        there == acknowledged || there == acknowledged + 1,
        "expected the {acknowledged} commits that were acknowledged, and at most one more",
        found = "{there}"
    );
    whole(&found, there)?;
    // Repeats the commit that was not answered. The writes that it builds on may be missing too.
    let next = acknowledged + 1;
    if repeat(&store, round, next).await?.is_none() {
        store.deliver(&key, child::item(next)).await?;
        store.stage_result(&fence, child::staged(next)).await?;
        ensure!(
            repeat(&store, round, next).await?.is_some(),
            "expected the repeat to be applied",
            found = "that it is refused"
        );
    }
    let repeated = snapshot(&store, &key).await?;
    whole(&repeated, next)?;
    ensure_eq!(repeated.inbox, [], "items that are left over");
    let staged = repeated.session.map(|session| session.staged.results);
    ensure_eq!(staged, Some(Vec::new()), "results that are left over");
    // Nothing stays locked beyond the lease.
    t.advance(t.lease()).await;
    let claimed = t.store.claim_session(&key, t.claim_one()).await?;
    let claim = want!(claimed, holdover_store::ClaimOutcome::Claimed(claim) => claim);
    ensure_eq!(claim.found, SessionStatus::Active, "the status that the next run finds");
    t.release(&claim.fence, SessionStatus::Idle).await.map(drop)
}

/// Repeats a commit. Returns `None` if what it promotes or consumes is missing.
async fn repeat(store: &Handle, round: u64, nth: u64) -> CaseResult<Option<()>> {
    let outcome = store.commit(&child::fence(round), child::commit(nth)).await?;
    if let CommitOutcome::NotStaged { .. } | CommitOutcome::NotInInbox { .. } = outcome {
        return Ok(None);
    }
    want!(outcome, CommitOutcome::Committed(_));
    Ok(Some(()))
}

/// Checks that everything of the first `commits` commits is there, and nothing of any other commit.
fn whole(found: &Snapshot, commits: u64) -> CaseResult {
    let nths = || 1..=commits;
    let messages: Vec<String> =
        nths().flat_map(|nth| [format!("result {nth}"), format!("message {nth}")]).collect();
    ensure_eq!(texts(found.messages.iter().map(|message| &message.payload)), messages, "the messages");
    ensure!(
        dense(found.messages.iter().map(|message| message.seq.0)),
        "expected messages without a gap",
        found = "{:?}",
        found.messages.iter().map(|message| message.seq.0).collect::<Vec<_>>()
    );
    let events: Vec<String> = nths().map(|nth| format!("event {nth}")).collect();
    ensure_eq!(texts(found.events.iter().map(|event| &event.payload)), events, "the events");
    ensure!(
        dense(found.events.iter().map(|event| event.seq.0)),
        "expected events without a gap",
        found = "{:?}",
        found.events.iter().map(|event| event.seq.0).collect::<Vec<_>>()
    );
    let states: Vec<String> = nths().map(|nth| format!("state {nth}")).collect();
    let kept = found.checkpoints.iter().rev();
    ensure_eq!(texts(kept.map(|checkpoint| &checkpoint.state)), states, "the checkpoints");
    let pending: Vec<String> = nths().last().map(|nth| format!("pending-{nth}")).into_iter().collect();
    let open: Vec<String> = found.pending.iter().map(|call| call.id.to_string()).collect();
    ensure_eq!(open, pending, "the open pending calls");
    let Some(session) = &found.session else {
        return Err(Failure::new("expected the session\n    found    none"));
    };
    ensure_eq!(texts(&session.state), Vec::from_iter(states.last().cloned()), "the state");
    // A created and claimed session has version 2.
    ensure_eq!(session.version.0, 2 + commits, "the version");
    let (last_message, last_event) = (session.last_message.0, session.last_event.0);
    ensure_eq!((last_message, last_event), (2 * commits, commits), "the newest message and event");
    // The writes before the next commit may be there or not; the commit takes them all.
    let next = commits + 1;
    let unread: Vec<String> = found.inbox.iter().map(|item| item.key.to_string()).collect();
    ensure!(
        unread.is_empty() || unread == [format!("item-{next}")],
        "expected no other item",
        found = "{unread:?}"
    );
    let staged: Vec<String> = session.staged.results.iter().map(|result| result.call.to_string()).collect();
    ensure!(
        staged.is_empty() || staged == [format!("call-{next}")],
        "expected no other result",
        found = "{staged:?}"
    );
    ensure_eq!(session.unread, unread.len() as u64, "how many items are unread");
    Ok(())
}

fn dense(mut numbers: impl Iterator<Item = u64>) -> bool {
    let mut next = 1_u64..;
    numbers.all(|number| next.next() == Some(number))
}
