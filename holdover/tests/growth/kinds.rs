//! The kinds of steps, and what each costs.

const COMMIT: &str = "commit";
const STAGE: &str = "stage_result";

/// What a step of one kind costs.
pub(crate) struct Step {
    pub(crate) asks: &'static [&'static str],
    /// Words that are said one by one.
    pub(crate) words: usize,
    /// Operations of the store, deltas aside. No step reads: the run knows what it wrote, and receipts bring
    /// the news. When the session is alone, each is one transaction and one sync.
    pub(crate) calls: &'static [(&'static str, usize)],
    /// SQL statements, from BEGIN to COMMIT, those of batches of deltas aside.
    pub(crate) statements: usize,
    /// Bytes of state and events at most, in all commits of the step together.
    pub(crate) beside_max: usize,
}

impl Step {
    /// Transactions that are synced, each once.
    pub(crate) fn synced(&self) -> u64 {
        self.calls.iter().map(|(_, times)| *times as u64).sum()
    }
}

/// By place: the kinds of steps take turns.
pub(crate) const KINDS: [Step; 5] = [
    // Two durable points: the intent with its start mark, then the result with what follows from it.
    // Statements, 8 and 9: begin, ask whether the schema is still the same, update the row if its token stands, put the state, drop start marks, append the
    // message, append the events, commit; the second keeps a checkpoint.
    Step { asks: &["send"], words: 0, calls: &[(COMMIT, 2)], statements: SEND, beside_max: 1630 },
    // The same two: its intent too is durable before it is sent.
    Step { asks: &["put"], words: 0, calls: &[(COMMIT, 2)], statements: SEND, beside_max: 1670 },
    // One durable point: answer, results and steering together.
    Step { asks: &["look"], words: 0, calls: &[(COMMIT, 1)], statements: LOOK, beside_max: 1155 },
    // Two, and one staging: the first result is durable before its sibling is back. The staging is 5
    // statements; promoting what it staged is one more removal.
    Step {
        asks: &["send", "put"],
        words: 0,
        calls: &[(COMMIT, 2), (STAGE, 1)],
        statements: BOTH,
        beside_max: 2365,
    },
    // The two of the first, and what the model says while it says it. That is not synced: the writer is told
    // so before and after, and the message removes it.
    Step { asks: &["send"], words: 12, calls: &[(COMMIT, 2)], statements: SEND + 3, beside_max: 1560 },
];
const SEND: usize = 17;
const LOOK: usize = 10;
const BOTH: usize = 24;

/// Which kind a step is of.
pub(crate) fn place(step: u64) -> usize {
    usize::try_from((step - 1) % KINDS.len() as u64).unwrap()
}
