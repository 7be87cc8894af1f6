//! A complete program on the store: a session with a model that only counts the messages in its transcript. Each call of
//! `say` opens the file again, like a new process. A second run of the program continues the count.
//!
//! Run it with `cargo run --example counter`.
#![allow(clippy::print_stdout, reason = "a program that shows what it was answered")]

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use custom_store::{Options, RedbStore};
use holdover::model::{Model, ModelAnswer, ModelError, ModelRequest, ModelStream};
use holdover::prelude::*;

struct Counter;

#[async_trait]
impl Model for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    async fn stream(&self, asked: ModelRequest) -> Result<ModelStream, ModelError> {
        let text = format!("The transcript has {} messages.", asked.messages.len());
        Ok(ModelAnswer::text(text).into_stream())
    }
}

async fn say(text: &str) -> Result<String, Box<dyn Error>> {
    let agent = Arc::new(Agent::builder("counter").version("1").model(Counter).build()?);
    let store = RedbStore::open("sessions.redb", Options::default()).await?;
    let runtime = Runtime::new(store, Agents::new().with(agent.clone()), RuntimeOptions::default());
    let request = Execute::new(TenantId::new("acme")?, agent, text).in_session(SessionId::new("s")?);
    Ok(runtime.execute(request).await?.text().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", say("one").await?);
    println!("{}", say("two").await?);
    Ok(())
}
