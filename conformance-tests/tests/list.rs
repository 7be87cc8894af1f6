//! The list that the macro makes tests of is the list of cases.

use std::collections::BTreeSet;

use holdover_conformance_tests::{__each_conformance_case, all};

#[test]
fn the_macro_makes_a_test_of_every_case() {
    let listed: Vec<(&str, &str)> = __each_conformance_case! { list }.to_vec();
    let cases: Vec<(&str, String)> = all().map(|case| (case.id, case.claim().to_string())).collect();
    let listed: BTreeSet<_> = listed.iter().map(|(id, claim)| format!("{claim} {id}")).collect();
    let cases: BTreeSet<_> = cases.iter().map(|(id, claim)| format!("{claim} {id}")).collect();
    let missing: Vec<_> = cases.difference(&listed).collect();
    let left_over: Vec<_> = listed.difference(&cases).collect();
    assert!(
        missing.is_empty() && left_over.is_empty(),
        "missing in src/list.rs: {missing:#?}; no case: {left_over:#?}"
    );
}

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
