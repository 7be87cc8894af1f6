use super::*;
use crate::words::agent::OPEN_MS_MIN;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_ms(seconds * 1_000)
}

fn fails(before: Option<Breaker>, seconds: i64, probe: bool) -> Breaker {
    let error = ModelError::new(ModelErrorKind::Provider, "overloaded");
    let failure = Failure { model: "openai:m", error: &error, probe };
    Breaker::failed(before, failure, &BreakerRules::default(), at(seconds))
}

fn opened_at(seconds: i64) -> Breaker {
    let mut breaker = None;
    for _ in 0..5 {
        breaker = Some(fails(breaker, seconds, false));
    }
    breaker.expect("five failures")
}

#[test]
fn u10_five_failures_in_a_row_open_it_and_nobody_passes_until_a_probe_may() {
    let mut breaker = None;
    for second in 1..=4 {
        breaker = Some(fails(breaker, second, false));
        assert_eq!(breaker.as_ref().map(|breaker| breaker.pass(at(second))), Some(Pass::Free));
    }
    let breaker = fails(breaker, 5, false);
    assert_eq!(breaker.pass(at(5)), Pass::Held(at(35)));
    assert_eq!(breaker.pass(at(34)), Pass::Held(at(35)));
    assert_eq!(breaker.pass(at(35)), Pass::Probe);
    let refusal = breaker.refusal(&BreakerRules::default(), at(5), at(5));
    assert_eq!(
        (refusal.kind, refusal.retry_after),
        (ModelErrorKind::CircuitOpen, Some(Duration::from_secs(30)))
    );
    assert_eq!(
        refusal.detail,
        "openai:m failed 5 times in a row, at last: model: provider: overloaded; it is not asked for 30000 ms"
    );
}

#[test]
fn u10_one_probes_while_the_others_are_held_and_a_dead_probe_is_followed_by_another() {
    let rules = BreakerRules::default();
    let probing = opened_at(0).probed(&rules, at(30));
    assert_eq!(probing.pass(at(30)), Pass::Held(at(60)));
    assert_eq!(probing.pass(at(60)), Pass::Probe);
    let known_by = probing.probe_until.expect("a probe is out");
    let renewed = probing.renewed(known_by, &rules, at(50));
    assert_eq!(renewed.pass(at(60)), Pass::Held(at(80)));
    // The probe holds other callers for at most `probe_ms`, however long it runs.
    let renewed = renewed.renewed(known_by, &rules, at(75));
    assert_eq!(renewed.pass(at(75)), Pass::Held(at(90)));
    // Another probe has followed, so this one cannot renew its hold.
    let followed = renewed.probed(&rules, at(90));
    assert_eq!(followed.clone().renewed(known_by, &rules, at(95)), followed);
}

/// A held caller that looks again when its error says so.
struct Sleeper {
    looks_at: Timestamp,
}

#[test]
fn u10_nobody_sleeps_longer_than_open_ms_after_it_closed_or_its_probe_died() {
    let rules =
        BreakerRules { open_ms: 1_500, open_ms_max: 12_000, probe_ms: 60_000, ..BreakerRules::default() };
    let ms = Timestamp::from_ms;
    let open = Duration::from_millis(rules.open_ms);
    // The breaker is open for the longest time. It is closed, or its probe dies, at each instant of a minute.
    let held = Breaker { held_until: Some(ms(12_000)), ..fails(Some(opened_at(0)), 0, true) };
    for over in (0..60_000).step_by(50).map(ms) {
        for begins in [0, 20, 700] {
            let mut breaker = held.clone();
            let mut probe = None;
            let mut sleeper = Sleeper { looks_at: ms(begins) };
            for now in (begins..over.as_ms()).step_by(10).map(ms) {
                match probe {
                    None if breaker.pass(now) == Pass::Probe => {
                        breaker = breaker.probed(&rules, now);
                        probe = breaker.probe_until;
                    }
                    Some(probe) if now.as_ms() % 500 == 0 => breaker = breaker.renewed(probe, &rules, now),
                    Some(_) | None => {}
                }
                if now >= sleeper.looks_at {
                    let refusal = breaker.refusal(&rules, now, now);
                    sleeper.looks_at = now.after(refusal.retry_after.expect("it is told when"));
                }
            }
            assert!(sleeper.looks_at <= over.after(open), "over at {over}: looks at {}", sleeper.looks_at);
            if probe.is_some() {
                assert_eq!(breaker.pass(over.after(open)), Pass::Probe, "a dead probe is followed");
            }
        }
    }
}

#[test]
fn u10_a_look_that_goes_by_what_was_read_before_comes_no_later_than_one_that_read_anew() {
    let rules = BreakerRules::default();
    let refusal = opened_at(0).probed(&rules, at(30)).refusal(&rules, at(31), at(33));
    assert_eq!(refusal.retry_after, Some(Duration::from_secs(27)));
    assert_eq!(refusal.held_for, Some(Duration::from_secs(57)), "all of the probe's time");
}

#[test]
fn u10_each_failed_probe_holds_for_twice_as_long_up_to_the_most() {
    let mut breaker = opened_at(0);
    let mut waits = Vec::new();
    for _ in 0..80 {
        breaker = fails(Some(breaker), 1_000, true);
        waits.push(breaker.held_until.map(|until| at(1_000).until(until).as_secs()));
    }
    assert_eq!(waits[..4], [Some(60), Some(120), Some(240), Some(300)]);
    assert!(waits[4..].iter().all(|wait| *wait == Some(300)), "{waits:?}");
}

#[test]
fn u10_who_was_let_through_before_it_opened_tells_nothing_new() {
    let breaker = opened_at(0);
    assert_eq!(fails(Some(breaker.clone()), 20, false), breaker);
}

#[test]
fn u10_failures_far_apart_are_not_in_a_row() {
    let mut breaker = None;
    for failure in 0..20 {
        breaker = Some(fails(breaker, failure * 301, false));
    }
    assert_eq!(breaker.map(|breaker| (breaker.failures, breaker.held_until)), Some((1, None)));
}

#[test]
fn rules_that_cannot_be_meant_are_named() {
    let rules = BreakerRules::default;
    for (rules, field) in [
        (BreakerRules { failures: 0, ..rules() }, "breaker.failures"),
        (BreakerRules { open_ms: 0, ..rules() }, "breaker.open_ms"),
        (BreakerRules { probe_ms: 0, ..rules() }, "breaker.probe_ms"),
        (BreakerRules { open_ms: 300_001, ..rules() }, "breaker.open_ms_max"),
        (BreakerRules { open_ms_max: 86_400_001, ..rules() }, "breaker.open_ms_max"),
    ] {
        assert_eq!(rules.fault().map(|(field, _)| field), Some(field));
    }
    assert_eq!(rules().fault(), None);
}

#[test]
fn whoever_is_held_looks_no_more_often_than_every_tenth_of_a_second() {
    let least = Duration::from_millis(OPEN_MS_MIN);
    for (open_ms, open_ms_max) in [(1, 1), (1, 300_000), (OPEN_MS_MIN - 1, OPEN_MS_MIN)] {
        let rules = BreakerRules { failures: 1, open_ms, open_ms_max, ..BreakerRules::default() };
        assert_eq!(rules.fault(), None, "agents that were stored so go on");
        let now = at(0);
        let error = ModelError::new(ModelErrorKind::Provider, "overloaded");
        let open =
            Breaker::failed(None, Failure { model: "openai:m", error: &error, probe: false }, &rules, now);
        assert_eq!(open.held_until, Some(now.after(least)));
        assert_eq!(open.refusal(&rules, now, now).retry_after, Some(least));
    }
}
