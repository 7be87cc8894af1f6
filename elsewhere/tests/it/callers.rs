//! Tests of the callers that may give tasks, and of their tokens.

use holdover_core::remote::{Remote, TaskStanding};
use holdover_elsewhere::{Callers, InvalidToken};
use holdover_runtime_local::Elsewhere;
use reqwest::header::{AUTHORIZATION, WWW_AUTHENTICATE};

use crate::bench::{OTHER_TOKEN, Program, TOKEN, id, task, tenant, value_of, wire};

fn two_tenants() -> Callers {
    let tokens = [(value_of(TOKEN), tenant("acme")), (value_of(OTHER_TOKEN), tenant("other"))];
    Callers::with_tokens(tokens).unwrap()
}

#[tokio::test]
async fn a_caller_sees_only_its_own_tasks() {
    let there = Program::digger(two_tenants()).await;
    let remote = |variable: &str| Remote { token_env: Some(variable.into()), ..there.remote() };
    let (own, foreign) = (remote(TOKEN), remote(OTHER_TOKEN));
    assert_eq!(wire().begin(&own, &task("t1", "north")).await.unwrap(), TaskStanding::Open);
    assert_eq!(wire().look(&foreign, &id("t1")).await.unwrap(), None);
    wire().stop(&foreign, &id("t1")).await.unwrap();
    assert_eq!(wire().look(&own, &id("t1")).await.unwrap(), Some(TaskStanding::Open));
    let _works = there.works();
    assert_eq!(there.ends(&own, "t1").await.text, "found north");
}

#[tokio::test]
async fn without_a_known_token_nothing_is_answered_and_nothing_changes() {
    let there = Program::digger(two_tenants()).await;
    let url = there.remote().url;
    let token = value_of(TOKEN);
    let wrong = [
        None,
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some("Bearer wrong".to_owned()),
        Some(format!("Bearer {token}x")),
        Some(format!("Bearer {}", &token[1..])),
        Some(format!("Basic {token}")),
        Some(token.clone()),
    ];
    let client = reqwest::Client::new();
    for header in wrong {
        let one = format!("{url}/t1");
        let unknown = one.replace("digger", "nobody");
        let body = r#"{"id":"t1","task":"north"}"#;
        let post = client.post(&url).header("content-type", "application/json").body(body);
        for request in [post, client.get(&one), client.delete(&one), client.get(unknown)] {
            let request = match &header {
                Some(header) => request.header(AUTHORIZATION, header),
                None => request,
            };
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), 401, "{header:?}");
            assert_eq!(answer.headers()[WWW_AUTHENTICATE], "Bearer");
            assert!(!answer.text().await.unwrap().contains(&token));
        }
    }
    let own = Remote { token_env: Some(TOKEN.into()), ..there.remote() };
    assert_eq!(wire().look(&own, &id("t1")).await.unwrap(), None);
    // The scheme's name may be in any case.
    let answer = client.get(format!("{url}/t1")).header(AUTHORIZATION, format!("bearer  {token}"));
    assert_eq!(answer.send().await.unwrap().status(), 410);
}

#[tokio::test]
async fn without_tokens_nobody_is_a_caller() {
    let there = Program::digger(Callers::nobody()).await;
    let error = wire().begin(&there.remote(), &task("t1", "north")).await.unwrap_err();
    assert!(!error.again && error.detail.contains("401"), "{error}");
}

#[test]
fn tokens_are_checked_and_not_shown() {
    for token in ["", "a b", "a\n", "é"] {
        let refused = Callers::with_tokens([(token, tenant("acme"))]).unwrap_err();
        assert_eq!(refused, InvalidToken::NotVisible(tenant("acme")));
    }
    let twice = Callers::with_tokens([("s3cret", tenant("acme")), ("s3cret", tenant("other"))]);
    let refused = twice.unwrap_err();
    assert_eq!(refused, InvalidToken::Twice(tenant("other")));
    assert!(!refused.to_string().contains("s3cret"));
    let callers = Callers::with_tokens([("s3cret", tenant("acme"))]).unwrap();
    assert_eq!(format!("{callers:?}"), "Callers(1 tokens)");
}
