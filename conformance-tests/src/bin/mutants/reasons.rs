//! Cases of the levels core and distributed that kill none of the broken stores, and why.

/// The case, and the reason.
pub(crate) const KILL_NOTHING: &[(&str, &str)] = &[];
