//! Shared helpers for the tests of this crate.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use holdover_core::custom::CustomState;
use holdover_core::ending::CancelReason;
use holdover_core::ids::{CallId, SessionId, SessionKey, TenantId};
use holdover_core::tool::{
    CallHandle, CallLink, Progress, StopRequest, Tool, ToolCall, ToolError, ToolReturn,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::{Root, built_in};

/// Returns a call with `arguments`.
pub(crate) fn call(arguments: Value) -> ToolCall {
    ToolCall {
        session: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
        id: CallId::new("c1").unwrap(),
        idempotency_key: "k1".to_owned(),
        arguments,
        timeout: Some(Duration::from_secs(60)),
        state: CustomState::default(),
        handle: CallHandle::default(),
    }
}

/// A new folder and the built-in tools on it.
pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) root: Root,
}

impl Fixture {
    /// Creates a root with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let root = Root::open(folder.path()).unwrap();
        Self { folder, root }
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        built_in(name, &self.root).unwrap()
    }

    /// Returns the text of the tool's result, or of its failure.
    pub(crate) async fn run(&self, name: &str, arguments: Value) -> Result<String, String> {
        let tool = self.tool(name);
        assert!(
            jsonschema::is_valid(&tool.spec().parameters, &arguments),
            "{arguments} does not fit the schema of {name}"
        );
        match tool.call(call(arguments)).await {
            Ok(ToolReturn::Output(output)) => Ok(output.content),
            Ok(ToolReturn::After { .. } | ToolReturn::At { .. } | ToolReturn::Signal { .. }) => {
                panic!("{name} answered later")
            }
            Err(ToolError::Failed(line)) => Err(line),
            Err(error @ (ToolError::NotRun(_) | ToolError::Transient { .. } | ToolError::Lost(_))) => {
                panic!("{error}")
            }
        }
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

/// The run's end of a call. It keeps what the call reports, and asks the call to stop when told.
#[derive(Clone)]
pub(crate) struct Run {
    reports: Arc<Mutex<Vec<Progress>>>,
    stop: watch::Sender<Option<StopRequest>>,
}

impl Run {
    pub(crate) fn new() -> Self {
        Self { reports: Arc::default(), stop: watch::Sender::new(None) }
    }

    /// Returns the call as this run sends it.
    pub(crate) fn sends(&self, call: ToolCall) -> ToolCall {
        ToolCall { handle: CallHandle::new(self.clone()), ..call }
    }

    /// Asks the call to stop within `grace`.
    pub(crate) fn stop(&self, grace: Duration) {
        self.stop.send_replace(Some(StopRequest { reason: CancelReason::UserCancelled, grace }));
    }

    /// Returns the texts that were reported, as lines.
    pub(crate) fn reported(&self) -> Vec<String> {
        let reports = self.reports.lock().unwrap();
        reports.iter().flat_map(|report| report.message.lines().map(str::to_owned)).collect()
    }
}

impl CallLink for Run {
    fn report(&self, progress: Progress) {
        self.reports.lock().unwrap().push(progress);
    }

    fn stop_request(&self) -> Option<StopRequest> {
        *self.stop.borrow()
    }

    fn stopped(&self) -> BoxFuture<'static, StopRequest> {
        let mut stop = self.stop.subscribe();
        Box::pin(async move { stop.wait_for(Option::is_some).await.unwrap().unwrap() })
    }
}
