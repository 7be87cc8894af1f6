//! The SQLite store under the public suite.

use holdover_conformance_tests::conformance_tests;
use holdover_store_sqlite::conformance::SqliteHarness;

conformance_tests!(
    SqliteHarness::in_folder(std::env::temp_dir()),
    claims: [core, durable, distributed, change_hints, forks, retention],
);
