//! Tests of the tables of cases.

use std::collections::BTreeSet;

use holdover_conformance_tests::all;

#[test]
fn every_case_has_an_id_of_its_own_and_says_what_it_is_about() {
    let mut ids = BTreeSet::new();
    for case in all() {
        assert!(ids.insert(case.id), "{} comes twice", case.id);
        for text in [case.title, case.why, case.clause] {
            assert!(text.len() > 10, "{}: {text:?} says nothing", case.id);
        }
    }
    assert!(ids.len() >= 75, "only {} cases", ids.len());
}
