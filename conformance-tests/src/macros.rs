//! `conformance_tests!`: the suite as a test target.

/// Runs the suite as the tests of a target whose `main` this is: one for each case, under the names and with the
/// arguments that `cargo test` has for any. The target says `harness = false` in `Cargo.toml`.
///
/// The first argument is an expression that makes a harness, evaluated for every case. `claims` names
/// the levels and capabilities that the store has; cases of any other are ignored. One more test,
/// `claims::are_everything_but_the_gaps`, compares them with the harness, so that nothing is left out without a
/// reason.
///
/// ```ignore
/// fn main() -> std::process::ExitCode {
///     holdover_conformance_tests::conformance_tests!(MyHarness::new(), claims: [core, durable])
/// }
/// ```
///
/// Several stores are told apart by a name before each: `conformance_tests! { "one" => …, claims: […]; "other" => … }`.
#[macro_export]
macro_rules! conformance_tests {
    ($($name:literal => $harness:expr, claims: [$($claim:ident),* $(,)?]);+ $(;)?) => {
        $crate::StoreTests::of(env!("CARGO_PKG_NAME"), env!("CARGO_CRATE_NAME"))
            $(.store($name, || $harness, &[$(stringify!($claim)),*]))+
            .run()
    };
    ($harness:expr, claims: [$($claim:ident),* $(,)?] $(,)?) => {
        $crate::conformance_tests! { "" => $harness, claims: [$($claim),*] }
    };
}
