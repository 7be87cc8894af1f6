//! The description of the API.

use std::fs;
use std::path::Path;

use holdover_front::openapi;
use reqwest::Method;
use serde_json::Value;

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

#[test]
fn unions_have_variants_with_names_and_words_are_enums() {
    let document = openapi();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let unions = schemas.iter().filter(|(_, schema)| schema["discriminator"].is_object());
    let mut seen = Vec::new();
    for (name, union) in unions {
        seen.push(name.as_str());
        let (tag, mapping) = (&union["discriminator"]["propertyName"], &union["discriminator"]["mapping"]);
        let mapping = mapping.as_object().unwrap();
        assert_eq!(mapping.len(), union["oneOf"].as_array().unwrap().len(), "{name}");
        for (word, at) in mapping {
            let variant = &schemas[at.as_str().unwrap().rsplit('/').next().unwrap()];
            assert_eq!(variant["properties"][tag.as_str().unwrap()]["const"], word.as_str(), "{name}");
        }
    }
    assert_eq!(
        seen,
        [
            "AssistantPart",
            "Delta",
            "Drawn",
            "Event",
            "Message",
            "StateChange",
            "StreamItem",
            "TreeStreamItem",
            "Undo"
        ]
    );
    assert_eq!(schemas["SessionStatus"]["enum"].as_array().unwrap().len(), 6);
}

#[test]
fn each_property_says_what_it_is_to_callers_in_any_language() {
    let document = openapi();
    check_properties("", &document["components"]["schemas"]);
    let text = document.to_string();
    assert!(!text.contains("holdover_core::") && !text.contains("`None`"), "Rust in descriptions");
}

fn check_properties(at: &str, value: &Value) {
    if let Some(properties) = value["properties"].as_object() {
        for (name, property) in properties {
            let said = ["description", "const", "$ref"].iter().any(|word| property[word].is_string());
            assert!(said, "{at}: {name}: has no description");
            assert_eq!(property["default"], Value::Null, "{at}: {name}: generators would demand it");
        }
    }
    let inner = value.as_object().into_iter().flatten().map(|(name, inner)| (name.as_str(), inner));
    let items = value.as_array().into_iter().flatten().map(|inner| ("", inner));
    inner.chain(items).for_each(|(name, inner)| check_properties(&format!("{at}/{name}"), inner));
}
