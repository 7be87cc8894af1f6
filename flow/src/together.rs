//! Branches of a flow that go on side by side.

/// Waits for several branches of a flow, and returns all their values. The branches are polled in order, so a later run
/// makes the same calls in the same order.
#[macro_export]
macro_rules! join {
    ($($branch:expr),+ $(,)?) => {
        $crate::__private::futures::join!($($branch),+)
    };
}

/// Waits for the first of several branches of a flow. The others are dropped, and their calls are cancelled. The branches
/// are polled in order, unlike in tokio's `select!` without `biased`, which would choose at random: a later run would
/// make other calls.
#[macro_export]
macro_rules! select {
    ($($branches:tt)+) => {
        $crate::__private::tokio::select! { biased; $($branches)+ }
    };
}
