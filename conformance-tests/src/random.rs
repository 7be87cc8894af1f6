//! Pseudorandom numbers that are the same each time.

/// Returns the number for a seed and a position (SplitMix64).
pub(crate) fn drawn(seed: u64, nth: u64) -> u64 {
    let mut mixed = seed.wrapping_add(nth.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
