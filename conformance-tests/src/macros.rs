//! `conformance_tests!`: one test per case.

/// Makes one `#[test]` per case of the suite, in a module per category.
///
/// The first argument is an expression that makes a harness, evaluated for every case. `claims` names
/// the levels and capabilities that the store has; cases of any other are made too, but ignored, with
/// the reason. One more test, `claims::are_everything_but_the_gaps`, compares them with the harness, so that
/// nothing is left out without a reason.
///
/// ```ignore
/// holdover_conformance_tests::conformance_tests!(MyHarness::new(), claims: [core, durable]);
/// ```
///
/// A word that is no claim does not compile:
///
/// ```compile_fail
/// # use holdover_conformance_tests::conformance_tests;
/// conformance_tests!(unreachable!(), claims: [core, durabel]);
/// ```
#[macro_export]
macro_rules! conformance_tests {
    ($harness:expr, claims: [$($claim:ident),* $(,)?] $(,)?) => {
        $($crate::__conformance_claim! { $claim })*
        $crate::__each_conformance_case! { tests [$($claim)*] $harness }

        mod claims {
            #[allow(unused_imports, reason = "the harness may be named by a full path")]
            use super::*;

            #[test]
            fn are_everything_but_the_gaps() {
                $crate::check_claims(&$harness, &[$(stringify!($claim)),*]);
            }
        }
    };
}

/// Refuses what is no claim.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_claim {
    (core) => {};
    (durable) => {};
    (distributed) => {};
    (change_hints) => {};
    (forks) => {};
    (retention) => {};
    (due_order) => {};
    (child_process) => {};
    (wire_faults) => {};
    (raw_data) => {};
    ($other:ident) => {
        compile_error!(concat!(
            "there is no claim `",
            stringify!($other),
            "`: a store claims core, durable, distributed, change_hints, forks, retention, due_order, \
             child_process, wire_faults, raw_data"
        ));
    };
}

/// What becomes of the list of cases.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_cases {
    // A test for each.
    (tests $claims:tt $harness:expr; $($category:ident { $($claim:ident $name:ident,)* })*) => {
        $(mod $category {
            #[allow(unused_imports, reason = "the harness may be named by a full path")]
            use super::*;
            $($crate::__conformance_test! { $claim $claims $harness, $category $name })*
        })*
    };
    // The list as data.
    (list; $($category:ident { $($claim:ident $name:ident,)* })*) => {
        [$($((concat!(stringify!($category), ".", stringify!($name)), stringify!($claim)),)*)*]
    };
}

/// One test: run if its claim is among those of the store, else ignored.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_test {
    (core [core $($rest:ident)*] $($test:tt)*) => { $crate::__conformance_test! { @run $($test)* } };
    (durable [durable $($rest:ident)*] $($test:tt)*) => { $crate::__conformance_test! { @run $($test)* } };
    (distributed [distributed $($rest:ident)*] $($test:tt)*) => {
        $crate::__conformance_test! { @run $($test)* }
    };
    (change_hints [change_hints $($rest:ident)*] $($test:tt)*) => {
        $crate::__conformance_test! { @run $($test)* }
    };
    (forks [forks $($rest:ident)*] $($test:tt)*) => { $crate::__conformance_test! { @run $($test)* } };
    (retention [retention $($rest:ident)*] $($test:tt)*) => { $crate::__conformance_test! { @run $($test)* } };
    (due_order [due_order $($rest:ident)*] $($test:tt)*) => { $crate::__conformance_test! { @run $($test)* } };
    (child_process [child_process $($rest:ident)*] $($test:tt)*) => {
        $crate::__conformance_test! { @run $($test)* }
    };
    (wire_faults [wire_faults $($rest:ident)*] $($test:tt)*) => {
        $crate::__conformance_test! { @run $($test)* }
    };
    (raw_data [raw_data $($rest:ident)*] $($test:tt)*) => {
        $crate::__conformance_test! { @run $($test)* }
    };
    ($claim:ident [$other:ident $($rest:ident)*] $($test:tt)*) => {
        $crate::__conformance_test! { $claim [$($rest)*] $($test)* }
    };
    (core [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "core is not claimed", $($test)* }
    };
    (durable [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "durable is not claimed", $($test)* }
    };
    (distributed [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "distributed is not claimed", $($test)* }
    };
    (change_hints [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "change_hints is not claimed", $($test)* }
    };
    (forks [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "forks is not claimed", $($test)* }
    };
    (retention [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "retention is not claimed", $($test)* }
    };
    (due_order [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "due_order is not claimed", $($test)* }
    };
    (child_process [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "child_process is not claimed", $($test)* }
    };
    (wire_faults [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "wire_faults is not claimed", $($test)* }
    };
    (raw_data [] $($test:tt)*) => {
        $crate::__conformance_test! { @ignore "raw_data is not claimed", $($test)* }
    };
    (@run $harness:expr, $category:ident $name:ident) => {
        #[test]
        fn $name() {
            $crate::__conformance_test! { @body $harness, $category $name }
        }
    };
    (@ignore $reason:literal, $harness:expr, $category:ident $name:ident) => {
        #[test]
        #[ignore = $reason]
        fn $name() {
            $crate::__conformance_test! { @body $harness, $category $name }
        }
    };
    (@body $harness:expr, $category:ident $name:ident) => {
        $crate::check(
            concat!(stringify!($category), ".", stringify!($name)),
            $harness,
            $crate::TestPlace::new(env!("CARGO_PKG_NAME"), env!("CARGO_CRATE_NAME")),
        )
    };
}
