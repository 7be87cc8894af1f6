//! One call in three phases: it is prepared, performed, and cleaned up. The first two phases run in one task, and
//! each begins only while the lease runs. The third runs in another task. A call is stopped by dropping its future.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use holdover_core::tool::{CLEANUP_MAX, Stopped, Tool, ToolCall, ToolError, ToolReturn};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::calls::STOPPED_UNSENT;
use super::early::Brought;
use super::line::Stop;
use crate::clock::{Lease, far};
use crate::guard::guarded;

/// The time that a tool has to say whether a call that was stopped, or that took too long, has acted.
pub(super) const ASK_STOPPED: Duration = Duration::from_secs(2);

/// A call that is being sent.
pub(super) struct Sending {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) call: ToolCall,
    pub(super) lease: Lease,
    /// Cancelled once no call is sent any more.
    pub(super) closed: CancellationToken,
    pub(super) sent: Instant,
    /// Set when the call is asked to stop.
    pub(super) stop: watch::Receiver<Option<Stop>>,
}

/// The progress of a call. It is kept outside of the call's task, which may panic or hang.
#[derive(Debug, Clone, Default)]
struct Phase(Arc<AtomicU8>);

impl Phase {
    const PREPARING: u8 = 1;
    const ACTING: u8 = 2;

    fn begin(&self, phase: u8) {
        self.0.store(phase, Ordering::Release);
    }

    fn is_acting(&self) -> bool {
        self.0.load(Ordering::Acquire) >= Self::ACTING
    }

    fn is_begun(&self) -> bool {
        self.0.load(Ordering::Acquire) >= Self::PREPARING
    }

    /// Returns the error for a call that ended without an answer in this phase.
    fn lost(&self, why: String) -> ToolError {
        if self.is_acting() { ToolError::Lost(why) } else { ToolError::NotRun(why) }
    }
}

impl Sending {
    /// Waits for `way_is_free`, then performs [all three phases](Self::through). Returns the result and the time that
    /// the phases took, or `None` if the call did not act because the lease had ended or no call is sent any more. If
    /// the call is told to stop during the wait, it is not sent.
    pub(super) async fn timed_after(mut self, way_is_free: impl Future<Output = ()>) -> Brought {
        tokio::select! {
            biased;
            Ok(_) = self.stop.wait_for(Option::is_some) => {
                return Some((Err(not_sent()), Duration::ZERO));
            }
            () = way_is_free => {}
        }
        let sent = Instant::now();
        self.sent = sent;
        self.through().await.map(|result| (result, sent.elapsed()))
    }

    /// Performs all three phases. Returns `None` if the call did not act, because the lease had ended or no call is
    /// sent any more.
    async fn through(self) -> Option<Result<ToolReturn, ToolError>> {
        let phase = Phase::default();
        let (tool, call) = (Arc::clone(&self.tool), self.call.clone());
        let result = self.in_time(&phase).await;
        if phase.is_begun() {
            clean_up(tool, call).await;
        }
        result
    }

    async fn in_time(self, phase: &Phase) -> Option<Result<ToolReturn, ToolError>> {
        let until = far(self.sent, self.call.timeout.unwrap_or(Duration::MAX));
        let mut bound = far(until, ASK_STOPPED);
        let mut told = self.stop.clone();
        let mut task = guarded(self.out(until, phase.clone()));
        loop {
            tokio::select! {
                biased;
                answer = &mut task => return answer.unwrap_or_else(|panicked| {
                    Some(Err(phase.lost(format!("it panicked: {}", panicked.0))))
                }),
                () = sleep_until(bound) => {
                    return Some(Err(phase.lost(String::from("it did not stop when told to"))));
                }
                Ok(()) = told.changed() => {
                    if let Some(stop) = *told.borrow_and_update() {
                        bound = bound.min(stop.given_up);
                    }
                }
            }
        }
    }

    /// Performs the first two phases. If the call is stopped in the second or takes too long there, asks the tool
    /// whether it has acted.
    async fn out(mut self, until: Instant, phase: Phase) -> Option<Result<ToolReturn, ToolError>> {
        if !may_act(&self.lease, &self.closed) {
            return None;
        }
        let (lease, closed) = (self.lease.clone(), self.closed.clone());
        let (tool, call) = (Arc::clone(&self.tool), self.call.clone());
        let (reached, stop) = (phase.clone(), self.stop.clone());
        let acting = async move {
            reached.begin(Phase::PREPARING);
            match tool.prepare(&call).await {
                Ok(()) => {}
                Err(ToolError::Failed(why)) => {
                    return Some(Err(ToolError::Failed(format!("not run: {why}"))));
                }
                Err(why @ (ToolError::NotRun(_) | ToolError::Transient { .. } | ToolError::Lost(_))) => {
                    return Some(Err(why));
                }
            }
            // The last check of the lease before the effect.
            if !may_act(&lease, &closed) {
                return None;
            }
            if stop.borrow().is_some() {
                return Some(Err(not_sent()));
            }
            reached.begin(Phase::ACTING);
            Some(tool.call(call).await)
        };
        let why = {
            let mut acting = pin!(acting);
            let stopped = tokio::select! {
                biased;
                result = &mut acting => return result,
                Ok(stopped) = self.stop.wait_for(Option::is_some) => *stopped,
                () = sleep_until(until) => None,
            };
            match stopped {
                // A call that is still being prepared is not waited for.
                Some(stop) if phase.is_acting() => tokio::select! {
                    biased;
                    result = acting => return result,
                    () = sleep_until(stop.grace_ends.min(until)) => String::from("it was stopped"),
                },
                Some(_) => String::from("it was stopped"),
                None => {
                    let within = self.call.timeout.unwrap_or(Duration::MAX).as_millis();
                    format!("no answer within {within} ms")
                }
            }
        };
        // The future of the call was dropped before this line.
        Some(Err(match phase.lost(why) {
            ToolError::Lost(why) => self.ask_stopped(why).await,
            known @ (ToolError::Failed(_) | ToolError::NotRun(_) | ToolError::Transient { .. }) => known,
        }))
    }

    async fn ask_stopped(&self, why: String) -> ToolError {
        match timeout(ASK_STOPPED, self.tool.stopped(&self.call.id)).await {
            Ok(Stopped::DidNotAct) => ToolError::NotRun(why),
            Ok(Stopped::Unknown) => ToolError::Lost(why),
            Err(_) => {
                let (session, call) = (&self.call.session, &self.call.id);
                tracing::debug!(%session, %call, "the tool did not say in time whether it acted");
                ToolError::Lost(why)
            }
        }
    }
}

/// Returns the error of a call that was asked to stop before it acted.
fn not_sent() -> ToolError {
    ToolError::NotRun(String::from(STOPPED_UNSENT))
}

fn may_act(lease: &Lease, closed: &CancellationToken) -> bool {
    lease.runs() && !closed.is_cancelled()
}

/// Performs the third phase. An error in it is logged and does not change the result of the call.
async fn clean_up(tool: Arc<dyn Tool>, call: ToolCall) {
    let (session, id) = (call.session.clone(), call.id.clone());
    let why = match timeout(CLEANUP_MAX, guarded(async move { tool.cleanup(&call).await })).await {
        Ok(Ok(Ok(()))) => return,
        Ok(Ok(Err(error))) => error.to_string(),
        Ok(Err(panicked)) => format!("it panicked: {}", panicked.0),
        Err(_) => format!("it was not done in {} s", CLEANUP_MAX.as_secs()),
    };
    tracing::warn!(%session, call = %id, why, "a tool did not clean up after a call");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use async_trait::async_trait;
    use holdover_core::custom::CustomState;
    use holdover_core::ending::CancelReason;
    use holdover_core::ids::{CallId, SessionId, SessionKey, TenantId, ToolName};
    use holdover_core::time::Timestamp;
    use holdover_core::tool::{EffectClass, ResourceProfile, RunsOn, ToolOutput, ToolSpec};
    use serde_json::{Value, json};

    use super::super::line::Line;
    use super::*;

    /// A tool that asks its own call to stop while it is prepared, and notes whether it acted.
    struct Eager {
        spec: ToolSpec,
        stops_itself: Option<Arc<Line>>,
        acted: AtomicBool,
    }

    #[async_trait]
    impl Tool for Eager {
        fn spec(&self) -> &ToolSpec {
            &self.spec
        }

        fn profile(&self, _: &Value) -> ResourceProfile {
            ResourceProfile::Serial
        }

        async fn prepare(&self, _: &ToolCall) -> Result<(), ToolError> {
            if let Some(line) = &self.stops_itself {
                line.stop(stop());
            }
            Ok(())
        }

        async fn call(&self, _: ToolCall) -> Result<ToolReturn, ToolError> {
            self.acted.store(true, Ordering::SeqCst);
            Ok(ToolOutput::text("acted").into())
        }
    }

    fn stop() -> Stop {
        Stop::by(Instant::now() + Duration::from_secs(60), ASK_STOPPED, CancelReason::UserCancelled)
    }

    #[tokio::test]
    async fn b33_a_call_that_is_asked_to_stop_before_it_acts_does_not_act() {
        for in_preparation in [false, true] {
            let line = Arc::new(Line::new());
            if !in_preparation {
                // The run sends the call and asks it to stop at once.
                line.stop(stop());
            }
            let spec = ToolSpec {
                name: ToolName::new("pay").unwrap(),
                description: String::new(),
                parameters: json!({}),
                effect: EffectClass::AtMostOnce,
                dangerous: false,
                runs_on: RunsOn::Server,
                timeout_ms: None,
            };
            let stops_itself = in_preparation.then(|| Arc::clone(&line));
            let tool = Arc::new(Eager { spec, stops_itself, acted: AtomicBool::new(false) });
            let call = ToolCall {
                session: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
                id: CallId::new("c1").unwrap(),
                idempotency_key: "k1".to_owned(),
                arguments: json!({}),
                timeout: None,
                state: CustomState::default(),
                handle: line.handle(),
            };
            let now = Timestamp::from_ms(0);
            let sending = Sending {
                tool: tool.clone(),
                call,
                lease: Lease::granted(Instant::now(), now, now.after(Duration::from_secs(3600))),
                closed: CancellationToken::new(),
                sent: Instant::now(),
                stop: line.stops(),
            };
            let brought = sending.timed_after(std::future::ready(())).await;
            assert!(matches!(brought, Some((Err(ToolError::NotRun(_)), _))), "{brought:?}");
            assert!(!tool.acted.load(Ordering::SeqCst), "in preparation: {in_preparation}");
        }
    }
}
