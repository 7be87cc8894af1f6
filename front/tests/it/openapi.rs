//! The description of the API.

use std::fs;
use std::path::Path;

use holdover_front::openapi;
use reqwest::Method;

use crate::bench::{Server, told};

#[tokio::test]
async fn the_committed_description_is_that_of_the_routes() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    let text = serde_json::to_string_pretty(&openapi()).unwrap() + "\n";
    if fs::read_to_string(&committed).ok().as_ref() != Some(&text) {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("openapi.json");
        fs::write(&new, text).unwrap();
        panic!("{} is out of date: replace it with {}", committed.display(), new.display());
    }
    let server = Server::start().await;
    let served = told(server.anonymous(Method::GET, "/openapi.json").send().await.unwrap()).await.1;
    assert_eq!(served, openapi());
}

#[test]
fn the_description_says_what_clients_need() {
    let document = openapi();
    assert_eq!(document["openapi"], "3.1.0");
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let what = format!("{method} {path}");
            assert!(operation["operationId"].is_string() && operation["summary"].is_string(), "{what}");
            assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{what}");
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.keys().any(|status| status.starts_with('2')), "{what}");
        }
    }
    let text = document.to_string();
    assert!(!text.contains("](") && !text.contains("[`"), "links of doc comments");
}
