//! The kinds of steps, and the cost of each.

const COMMIT: &str = "commit";
const STAGE: &str = "stage_result";

/// The cost of a step of one kind.
pub(crate) struct Step {
    pub(crate) asks: &'static [&'static str],
    /// The number of words that are streamed one by one.
    pub(crate) words: usize,
    /// The store operations by name, without deltas. No step reads: the run keeps what it wrote, and receipts report
    /// changes by others. If no other session writes, each operation is one transaction and one sync.
    pub(crate) calls: &'static [(&'static str, usize)],
    /// The number of SQL statements from BEGIN to COMMIT, without those of batches of deltas.
    pub(crate) statements: usize,
    /// The most bytes of state and events, in all commits of the step together.
    pub(crate) beside_max: usize,
}

impl Step {
    /// Returns the number of transactions, each of which is synced once.
    pub(crate) fn synced(&self) -> u64 {
        self.calls.iter().map(|(_, times)| *times as u64).sum()
    }
}

/// The kinds in the order in which steps take turns.
pub(crate) const KINDS: [Step; 5] = [
    // Two durable points: the intent with its start mark, then the result with what follows from it. The first is 8
    // statements: begin, check that the schema is unchanged, update the row if its token stands, put the state, drop
    // start marks, append the message, append the events, commit. The second is 9, since it also keeps a checkpoint.
    Step { asks: &["send"], words: 0, calls: &[(COMMIT, 2)], statements: SEND, beside_max: 1660 },
    // Two again: its intent, too, is durable before the call is sent.
    Step { asks: &["put"], words: 0, calls: &[(COMMIT, 2)], statements: SEND, beside_max: 1700 },
    // One durable point: answer, results and steering together.
    Step { asks: &["look"], words: 0, calls: &[(COMMIT, 1)], statements: LOOK, beside_max: 1165 },
    // Two, and one staging: the first result is durable before its sibling returns. The staging takes 5 statements. The
    // second commit appends one more message, and removes the staged result.
    Step {
        asks: &["send", "put"],
        words: 0,
        calls: &[(COMMIT, 2), (STAGE, 1)],
        statements: BOTH,
        beside_max: 2410,
    },
    // As the first, with the streamed answer in addition. The deltas are not synced: the writer turns syncing off
    // before them and on again after them. The message removes them.
    Step { asks: &["send"], words: 12, calls: &[(COMMIT, 2)], statements: SEND + 3, beside_max: 1590 },
];
const SEND: usize = 17;
const LOOK: usize = 10;
const BOTH: usize = 24;

/// Returns the kind of this step, as an index into `KINDS`.
pub(crate) fn place(step: u64) -> usize {
    usize::try_from((step - 1) % KINDS.len() as u64).unwrap()
}
