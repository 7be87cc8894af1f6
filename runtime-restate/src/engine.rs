//! The engine of a runtime: wakes Restate after writes.

use std::collections::BTreeSet;

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_runtime_local::{Engine, EngineError, Seen, WakeUp};
use serde::Deserialize;
use serde_json::Value;

use crate::client::Api;
use crate::error::RestateError;
use crate::look::{look, query};
use crate::names::{is_base, object_key, segment, service_name};
use crate::object::Wake;
use crate::options::RestateOptions;

/// The calls of handlers for a session that are not over. They are asked for first: a call that ends in between leaves its
/// state, which is asked for next.
const CALLS: &str = "SELECT target_service_name AS service FROM sys_invocation WHERE status <> 'completed' AND \
                     target_service_key = ";
/// The objects of a session that have a state.
const STATES: &str = "SELECT service_name AS service FROM state WHERE service_key = ";

/// Restate as the engine of a runtime. After a write that may give a session work, it calls the handler `wake` of the
/// session's object, and does not wait for its end.
///
/// Restate has stored the call when [`wake`](Engine::wake) returns. The wake-up of a deleted session goes to all objects
/// of the session, which forget it.
#[derive(Debug, Clone)]
pub struct RestateEngine {
    ingress: Api,
    admin: Api,
    service: String,
}

impl RestateEngine {
    /// Creates an engine. Connects to nothing yet.
    ///
    /// # Errors
    /// A URL, the token or the name of the service is not valid.
    pub fn new(options: &RestateOptions) -> Result<Self, RestateError> {
        if !is_base(&options.service) {
            return Err(RestateError::base());
        }
        Ok(Self {
            ingress: Api::ingress(options)?,
            admin: Api::admin(options)?,
            service: options.service.clone(),
        })
    }

    async fn call(&self, service: &str, key: &SessionKey) -> Result<(), RestateError> {
        let path = format!("{service}/{}/wake/send", segment(&object_key(key)));
        let _sent: Value = self.ingress.post(&path, &Wake::default()).await?;
        Ok(())
    }

    /// Calls every object that Restate has of a deleted session. If one call fails, the others are made all the same.
    async fn call_all(&self, key: &SessionKey) -> Result<(), RestateError> {
        let mut services = BTreeSet::new();
        for objects in [CALLS, STATES] {
            let rows: Vec<Row> = query(&self.admin, objects, key).await?;
            services.extend(rows.into_iter().map(|row| row.service));
        }
        let prefix = format!("{}.", self.service);
        let mut called = Ok(());
        for service in services.iter().filter(|service| service.starts_with(&prefix)) {
            called = called.and(self.call(service, key).await);
        }
        called
    }
}

#[derive(Deserialize)]
struct Row {
    service: String,
}

#[async_trait]
impl Engine for RestateEngine {
    async fn wake(&self, wake: &WakeUp) -> Result<(), EngineError> {
        let woken = match &wake.session {
            Some(known) => self.call(&service_name(&self.service, &known.queue), &wake.key).await,
            None => self.call_all(&wake.key).await,
        };
        woken.map_err(|error| EngineError::new(error.to_string()))
    }

    async fn look(&self, key: &SessionKey) -> Result<Option<Seen>, EngineError> {
        look(&self.admin, &self.service, key).await.map_err(|error| EngineError::new(error.to_string()))
    }

    fn name(&self) -> String {
        // `http` becomes `restate`, and `https` becomes `restates`.
        self.ingress.name().replacen("http", "restate", 1)
    }
}
