//! The link that gives the person at the terminal a token.

use std::sync::Arc;

use axum::Router;
use holdover_front::{Access, Caller, FrontOptions, OneTimeLink, Tokens, router};
use holdover_runtime_local::Agents;
use holdover_store_memory::MemoryStore;
use reqwest::{Method, StatusCode};
use tokio::net::TcpListener;

use crate::bench::{ANN, Known, clerk, runtime, tenant, told};

/// Starts a server with a link for Bob, beside the token of Ann. Returns its address and the path of the link.
async fn linked() -> (String, String) {
    let others: Arc<dyn Tokens> = Arc::new(Known::new([(ANN, Caller::of(tenant("acme")).named("ann"))]));
    let (link, path) = OneTimeLink::new(Caller::of(tenant("acme")).named("bob"), others);
    let options =
        FrontOptions::new(Access::Tokens(Arc::clone(&link) as _)).agents(Agents::new().with(clerk()));
    let app: Router = router(runtime(MemoryStore::new()), options).merge(link.router());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (base, path)
}

#[tokio::test]
async fn a_link_gives_its_token_once_and_other_tokens_hold() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let (base, path) = linked().await;
    let get = |path: &str| client.get(format!("{base}{path}"));
    let wrong = format!("/link/{}", "0".repeat(64));
    assert_eq!(told(get(&wrong).send().await.unwrap()).await.0, StatusCode::NOT_FOUND);
    let head = client.request(Method::HEAD, format!("{base}{path}")).send().await.unwrap();
    assert_eq!(head.status(), StatusCode::OK, "a look does not use the link up");

    let opened = get(&path).send().await.unwrap();
    assert_eq!(opened.headers()["cache-control"], "no-store");
    let token = opened.text().await.unwrap().trim().to_owned();
    let again = told(get(&path).send().await.unwrap()).await;
    assert_eq!((again.0, again.1["code"].as_str()), (StatusCode::GONE, Some("link_used")));

    for (token, status) in [
        (token.as_str(), StatusCode::OK),
        (ANN, StatusCode::OK),
        ("", StatusCode::UNAUTHORIZED),
        ("once_", StatusCode::UNAUTHORIZED),
        (path.trim_start_matches("/link/"), StatusCode::UNAUTHORIZED),
    ] {
        let answer = get("/v1/sessions").bearer_auth(token).send().await.unwrap();
        assert_eq!(answer.status(), status, "{token}");
    }
}
