//! What a person sees on a terminal.

mod support;

use support::Fixture;

#[test]
fn what_a_model_says_comes_after_what_it_was_shown() {
    let fixture = Fixture::new();
    let places = |out: &str, texts: &[&str]| -> Vec<usize> {
        texts.iter().map(|text| out.find(text).unwrap_or_else(|| panic!("{text:?} in {out:?}"))).collect()
    };
    let ran = fixture.run_on_terminal(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let at = places(&ran.out, &["> write", "I write.", "→ write_file"]);
    assert!(at.is_sorted(), "{ran:#?}");
    let ran = fixture.run_on_terminal(&["approve", "s"]).ends(0);
    let at = places(&ran.out, &["• approved", "← write_file", "Written."]);
    assert!(at.is_sorted(), "{ran:#?}");
    assert_eq!(ran.out.matches("Written.").count(), 1, "{ran:#?}");
}
