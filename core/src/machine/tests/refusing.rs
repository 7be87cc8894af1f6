//! A state takes the inputs that the table lists for it, and no others.
//!
//! Requirements: C03.

use super::*;

/// Every pair of a state and an input is tried, with every sample of both.
///
/// Requirements: C03.
#[test]
fn c03_every_pair_that_the_table_does_not_list_is_refused_and_the_machine_stays() {
    let listed: BTreeSet<_> = table::ROWS.iter().map(|row| (row.from, row.on)).collect();
    let (mut refused, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for state in states() {
        for input in inputs() {
            let machine = at(state.clone());
            let pair = (state.kind(), input.kind());
            let name = format!("{} on {}", pair.0.as_str(), pair.1.as_str());
            match transition(&machine, &input, &FACTS) {
                Err(told) if !listed.contains(&pair) => {
                    assert_eq!(told, Refused { state: pair.0, input: pair.1, detail: None }, "{name}");
                    refused.insert(pair);
                }
                Ok(moved) if !listed.contains(&pair) => panic!("{name} is not in the table: {moved:?}"),
                Ok(moved) => {
                    assert!(moved.moved || moved.next == machine, "{name}: redelivery changes nothing");
                    taken.insert(pair);
                }
                // Listed, but this sample does not fit the calls of that one.
                Err(_) => {}
            }
            assert_eq!(machine, at(state.clone()), "{name}: the machine stays");
        }
    }
    let pairs = StateKind::ALL.into_iter().flat_map(|from| InputKind::ALL.map(|on| (from, on)));
    let unlisted: BTreeSet<_> = pairs.filter(|pair| !listed.contains(pair)).collect();
    assert_eq!(refused, unlisted, "no pair was left out");
    assert_eq!(taken, listed, "each pair of the table is taken");
    assert!(unlisted.len() > listed.len(), "most pairs are refused");
}
