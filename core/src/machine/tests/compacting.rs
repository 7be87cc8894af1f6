//! The moves that follow once old messages were summarised, or could not be.
//!
//! Requirements: A10, B38, B50.

use super::*;

/// Returns the ways in which a summary ends: it is made, nothing is old enough, it fails, and the breaker is open.
fn outcomes() -> [(&'static str, Input); 4] {
    let not = |error: Option<&str>, held_until| Input::NotCompacted {
        error: error.map(|code| ErrorInfo::new(code, "no")),
        usage: Usage::default(),
        retry_at: None,
        held_until,
        shorter: None,
        dead_end: None,
        next: false,
    };
    let made = Input::Compacted {
        summary: MessageSeq(3),
        from: MessageSeq(2),
        tokens: 5,
        before: 50,
        usage: Usage::default(),
    };
    [
        ("made", made),
        ("skipped", not(None, None)),
        ("failed", not(Some("model.provider"), None)),
        ("breaker open", not(Some("model.circuit_open"), Some(Timestamp::from_ms(9)))),
    ]
}

/// Returns the state after a summary for `why` ended with each outcome.
fn after(why: &CompactionCause) -> [AgentState; 4] {
    outcomes().map(|(_, outcome)| {
        let mut machine = at(AgentState::Compacting { why: why.clone(), step: StepNumber(1), attempt: 0 });
        machine.handoff =
            (*why == CompactionCause::Handoff).then_some(Handoff { after: MessageSeq(1), draft: false });
        transition(&machine, &outcome, &FACTS).expect("it is in the table").next.state
    })
}

#[test]
fn a10_a_summary_that_the_threshold_asks_for_leads_to_thinking_however_it_ends() {
    let thinks = AgentState::Thinking { step: StepNumber(1), attempt: 0 };
    for ((outcome, _), state) in outcomes().iter().zip(after(&CompactionCause::Threshold)) {
        assert_eq!(state, thinks, "{outcome}");
    }
}

/// A10 speaks of summaries that are made in good time. Other rules decide where the step cannot go on without one: B38 lets
/// the provider's refusal surface, and B50 ends a turn whose extract fails. A summary that somebody asked for at rest
/// leaves the session at rest.
#[test]
fn a10_leaves_to_b38_and_b50_what_follows_a_summary_without_which_the_step_cannot_go_on() {
    let code = |state: &AgentState| {
        if let AgentState::Thinking { .. } = state {
            return "thinks".to_owned();
        }
        let (AgentState::TearingDown { ending, .. } | AgentState::Done { ending, .. }) = state else {
            panic!("{state:?}")
        };
        ending.error.as_ref().map_or_else(|| ending.reason.as_str().to_owned(), |error| error.code.clone())
    };
    let codes = |why: CompactionCause| after(&why).each_ref().map(code);
    let too_long = CompactionCause::ContextLimit { error: ErrorInfo::new("model.context_limit", "too long") };
    let refused = "model.context_limit";
    assert_eq!(codes(too_long), ["thinks", refused, refused, refused]);
    assert_eq!(codes(CompactionCause::Handoff), ["thinks", "thinks", "model.provider", "model.circuit_open"]);
    let ending = Ending::of(DoneReason::ModelStop);
    assert_eq!(codes(CompactionCause::Manual { ending }), ["model_stop"; 4]);
}
