//! Every layer under the public suite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use holdover_conformance_tests::conformance_tests;
use holdover_harnesses::layers::{
    compressed, compressed_then_encrypted, encrypted, encrypted_or_plain, faulty, recording,
};
use holdover_harnesses::{MemoryHarness, SqliteHarness};

fn memory() -> MemoryHarness {
    MemoryHarness::new()
}

fn sqlite() -> SqliteHarness {
    SqliteHarness::in_folder(std::env::temp_dir())
}

mod faulty_without_faults {
    use super::*;
    conformance_tests!(
        faulty(memory()),
        claims: [core, distributed, change_hints, forks, retention, due_order],
    );
}

mod recorded {
    use super::*;
    conformance_tests!(
        recording(memory()),
        claims: [core, distributed, change_hints, forks, retention, due_order],
    );
}

mod compressed_in_memory {
    use super::*;
    conformance_tests!(
        compressed(memory()),
        claims: [core, distributed, change_hints, forks, retention, due_order],
    );
}

mod encrypted_in_memory {
    use super::*;
    conformance_tests!(
        encrypted(memory()),
        claims: [core, distributed, change_hints, forks, retention, due_order],
    );
}

mod both_in_memory {
    use super::*;
    conformance_tests!(
        compressed_then_encrypted(memory()),
        claims: [core, distributed, change_hints, forks, retention, due_order],
    );
}

mod or_plain_in_memory {
    use super::*;
    conformance_tests!(
        encrypted_or_plain(memory()),
        claims: [core, distributed, change_hints, forks, retention, due_order],
    );
}

mod both_on_sqlite {
    use super::*;
    conformance_tests!(
        compressed_then_encrypted(sqlite()),
        claims: [core, durable, distributed, change_hints, forks, retention, due_order],
    );
}
