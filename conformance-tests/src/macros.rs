//! The macro `conformance_tests!`, which makes the suite a test target.

/// Runs the suite as the tests of a target, and evaluates to the exit code that `main` must return. Each case is one
/// test, and the target takes the usual arguments of `cargo test`. It needs `harness = false` in `Cargo.toml`.
///
/// The first argument is an expression that makes a harness; it is evaluated once for each test. `claims` names the
/// levels and capabilities that the store has; cases of other claims are ignored. One more test,
/// `claims::are_everything_but_the_gaps`, compares the claims with the gaps of the harness, so that nothing is left out
/// without a reason.
///
/// ```ignore
/// fn main() -> std::process::ExitCode {
///     holdover_conformance_tests::conformance_tests!(MyHarness::new(), claims: [core, durable])
/// }
/// ```
///
/// For several stores, put a name before each: `conformance_tests! { "one" => …, claims: […]; "other" => … }`.
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
