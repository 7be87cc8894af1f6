//! Tokens in the store: made, listed, expired, revoked, and seen by every process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdover_core::store::{DeleteMode, Deletion, SessionQuery};
use holdover_core::time::Timestamp;
use holdover_front::{Access, Caller, May, StoredTokens, TokenError, Tokens};
use holdover_runtime_local::{Execute, Retention, Runtime};
use holdover_store_memory::MemoryStore;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::bench::{PATIENCE, Server, clerk, runtime, tenant, told};
use crate::events::Counted;

fn ann() -> Caller {
    Caller::of(tenant("acme")).named("ann").only([May::Read, May::Decide])
}

/// Two processes on one store.
fn two() -> (Runtime, Runtime) {
    let store = MemoryStore::new();
    (runtime(store.clone()), runtime(store))
}

#[tokio::test]
async fn a_token_opens_what_it_was_made_for_in_every_process() {
    let (one, other) = two();
    let (token, made) = StoredTokens::new(one).create(ann(), None).await.unwrap();
    assert_eq!((&made.caller, made.expires_at), (&ann(), None));
    let access = Access::Tokens(Arc::new(StoredTokens::new(other.clone())));
    let server = Server::on(other, access, |options| options).await;
    let ask = |method, path| server.anonymous(method, path).bearer_auth(&token);
    assert_eq!(ask(Method::GET, "/v1/sessions").send().await.unwrap().status(), StatusCode::OK);
    let start = ask(Method::POST, "/v1/sessions").json(&json!({ "agent": "clerk", "message": "hello" }));
    assert_eq!(told(start.send().await.unwrap()).await.1["code"], "forbidden");
    let sessions = told(ask(Method::GET, "/v1/sessions").send().await.unwrap()).await.1;
    assert_eq!(sessions["items"], json!([]), "the session that holds the token belongs to another tenant");
}

#[tokio::test]
async fn the_token_is_not_in_the_store() {
    let (one, _) = two();
    let tokens = StoredTokens::new(one.clone());
    let (token, made) = tokens.create(ann(), None).await.unwrap();
    let secret = token.rsplit('_').next().unwrap();
    assert_eq!(secret.len(), 64);
    let query = SessionQuery::all(tenant("holdover"));
    let stored = one.list(&query).await.unwrap();
    assert_eq!(stored.items.len(), 1);
    let session = one.session(&stored.items[0].key).await.unwrap().unwrap();
    let text = format!("{session:?} {}", String::from_utf8_lossy(session.definition.bytes()));
    assert!(text.contains("ann") && !text.contains(secret), "{text}");
    let listed = tokens.list(&tenant("acme")).await.unwrap();
    assert_eq!(listed.iter().map(|token| &token.id).collect::<Vec<_>>(), [&made.id]);
    assert!(tokens.list(&tenant("other")).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_token_that_was_revoked_or_has_expired_is_refused() {
    let (one, other) = two();
    let (mine, theirs) = (StoredTokens::new(one.clone()), StoredTokens::new(other));
    let (token, made) = mine.create(ann(), None).await.unwrap();
    assert_eq!(theirs.caller(&token).await.unwrap(), Some(ann()));
    assert!(!mine.revoke(&tenant("other"), &made.id).await.unwrap(), "it is of another tenant");
    assert!(mine.revoke(&tenant("acme"), &made.id).await.unwrap());
    assert!(!mine.revoke(&tenant("acme"), &made.id).await.unwrap(), "once");
    assert_eq!(mine.caller(&token).await.unwrap(), None);
    assert_eq!(StoredTokens::new(one.clone()).caller(&token).await.unwrap(), None);

    let past = Timestamp::from_ms(one.now().as_ms() - 1);
    assert!(matches!(mine.create(ann(), Some(past)).await, Err(TokenError::Expired)));
    let soon = one.now().after(Duration::from_millis(500));
    let (brief, _) = mine.create(ann(), Some(soon)).await.unwrap();
    assert_eq!(mine.caller(&brief).await.unwrap(), Some(ann()));
    let refused = async {
        while mine.caller(&brief).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.unwrap();
    assert!(one.now() >= soon, "not before its time");
}

#[tokio::test]
async fn a_server_of_one_tenant_refuses_tokens_of_others() {
    let (one, _) = two();
    let all = StoredTokens::new(one.clone());
    let (token, _) = all.create(ann(), None).await.unwrap();
    assert_eq!(all.clone().only(tenant("acme")).caller(&token).await.unwrap(), Some(ann()));
    assert_eq!(all.only(tenant("other")).caller(&token).await.unwrap(), None);
    let engine = Caller::of(tenant("holdover")).named("eve");
    assert!(matches!(StoredTokens::new(one).create(engine, None).await, Err(TokenError::Reserved)));
}

#[tokio::test]
async fn other_texts_are_no_tokens() {
    let (one, _) = two();
    let tokens = StoredTokens::new(one);
    let (token, made) = tokens.create(ann(), None).await.unwrap();
    let other = format!("hld_{}_{}", made.id, "0".repeat(64));
    let long = format!("{token}0");
    for text in
        ["", "hld_", "hld_x_y", &token[..token.len() - 1], &long, &other, &token.to_uppercase(), &made.id]
    {
        assert_eq!(tokens.caller(text).await.unwrap(), None, "{text}");
    }
    assert_eq!(tokens.caller(&token).await.unwrap(), Some(ann()));
}

#[tokio::test]
async fn a_token_has_a_name_and_a_permission() {
    let (one, _) = two();
    let tokens = StoredTokens::new(one);
    for name in ["", "  ", "a\nb", &"x".repeat(129)] {
        let made = tokens.create(Caller::of(tenant("acme")).named(name), None).await;
        assert!(matches!(made, Err(TokenError::Name)), "{name:?}");
    }
    assert!(matches!(tokens.create(Caller::of(tenant("acme")), None).await, Err(TokenError::Name)));
    assert!(matches!(tokens.create(ann().only([]), None).await, Err(TokenError::Nothing)));
}

#[tokio::test]
async fn retention_keeps_tokens() {
    let (one, _) = two();
    let tokens = StoredTokens::new(one.clone());
    let (token, _) = tokens.create(ann(), None).await.unwrap();
    let hello = Execute::new(tenant("acme"), clerk(), "hello");
    let session = one.execute(hello).await.unwrap();
    let key = session.key().clone();
    session.outcome().await.unwrap();
    // The purge removes what rested before this millisecond.
    while one.session(&key).await.unwrap().is_some() {
        one.purge(&Retention::sessions(Duration::ZERO)).await.unwrap();
    }
    assert_eq!(StoredTokens::new(one.clone()).caller(&token).await.unwrap(), Some(ann()));
    // Somebody with access to the store can still remove it.
    let query = SessionQuery::all(tenant("holdover"));
    let key = one.list(&query).await.unwrap().items[0].key.clone();
    one.delete(&key, Deletion { mode: DeleteMode::Force, ..Deletion::UNLESS_ACTIVE }).await.unwrap();
    assert_eq!(StoredTokens::new(one).caller(&token).await.unwrap(), None);
}

/// Thousands of streams may ask for the same token at once.
#[tokio::test]
async fn those_who_ask_for_one_token_at_once_share_one_look() {
    let requests = Arc::new(AtomicUsize::new(0));
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteStore::open(SqliteOptions::new(folder.path().join("s.db"))).await.unwrap();
    let store = Counted { store: Arc::new(file), requests: Arc::clone(&requests) };
    let made_by = runtime(store);
    let (token, _) = StoredTokens::new(made_by.clone()).create(ann(), None).await.unwrap();
    let tokens = StoredTokens::new(made_by);
    let before = requests.load(Ordering::SeqCst);
    let asked = (0..1_000).map(|_| tokens.caller(&token));
    let found = futures::future::try_join_all(asked).await.unwrap();
    assert!(found.iter().all(|caller| caller.as_ref() == Some(&ann())));
    assert_eq!(requests.load(Ordering::SeqCst) - before, 1);
    let made_up = format!("{}0", &token[..token.len() - 1]);
    let made_up = if made_up == token { format!("{}1", &token[..token.len() - 1]) } else { made_up };
    assert_eq!(tokens.caller(&made_up).await.unwrap(), None);
}
