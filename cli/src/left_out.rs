//! The parts that this build leaves out: their names, a one-line hint on how to get them, and stand-ins that print that
//! hint.
//!
//! Other modules use the real module of a part if its feature is on, and the stand-in from here otherwise. A command
//! that is left out has no stand-in: an error reports it.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Failure;

/// The command that builds this program, without its features.
const INSTALL: &str = "cargo install --locked --path cli --features";

/// A part of the program that a build may leave out. Each part is a feature of the crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The command `conformance`.
    Conformance,
    /// Models of providers, gates and hooks that ask a server, and downloads of skills.
    Http,
    /// The tools of MCP servers.
    Mcp,
    /// Stores in a Postgres database.
    Postgres,
    /// Stores on a Redis server or a Redis Cluster.
    Redis,
    /// Restate as the engine.
    Restate,
    /// The command `schedules`, and workers that run schedules.
    Schedules,
    /// Agents of other programs, and the commands `mcp`, `serve` and `tokens`.
    Serve,
    /// Temporal as the engine.
    Temporal,
}

impl Part {
    pub(crate) const ALL: [Self; 9] = [
        Self::Conformance,
        Self::Http,
        Self::Mcp,
        Self::Postgres,
        Self::Redis,
        Self::Restate,
        Self::Schedules,
        Self::Serve,
        Self::Temporal,
    ];

    /// Returns the name of the part's feature.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Self::Conformance => "conformance",
            Self::Http => "http",
            Self::Mcp => "mcp",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Restate => "restate",
            Self::Schedules => "schedules",
            Self::Serve => "serve",
            Self::Temporal => "temporal",
        }
    }

    /// Returns true if this build has the part.
    pub(crate) fn is_built(self) -> bool {
        match self {
            Self::Conformance => cfg!(feature = "conformance"),
            Self::Http => cfg!(feature = "http"),
            Self::Mcp => cfg!(feature = "mcp"),
            Self::Postgres => cfg!(feature = "postgres"),
            Self::Redis => cfg!(feature = "redis"),
            Self::Restate => cfg!(feature = "restate"),
            Self::Schedules => cfg!(feature = "schedules"),
            Self::Serve => cfg!(feature = "serve"),
            Self::Temporal => cfg!(feature = "temporal"),
        }
    }

    /// Returns the commands of the part.
    pub(crate) fn commands(self) -> &'static [&'static str] {
        match self {
            Self::Conformance => &["conformance"],
            Self::Schedules => &["schedules"],
            Self::Serve => &["mcp", "serve", "tokens"],
            Self::Http | Self::Mcp | Self::Postgres | Self::Redis | Self::Restate | Self::Temporal => &[],
        }
    }

    /// Returns the URL prefixes of the part's stores or engines.
    pub(crate) fn schemes(self) -> &'static [&'static str] {
        match self {
            Self::Conformance | Self::Http | Self::Mcp | Self::Schedules | Self::Serve => &[],
            Self::Restate => &["restate://", "restates://"],
            Self::Temporal => &["temporal://", "temporals://"],
            Self::Postgres => &["postgres://", "postgresql://"],
            Self::Redis => &["redis://", "rediss://", "redis+cluster://", "rediss+cluster://"],
        }
    }

    /// Returns one line that says that `what` needs this part, and how to get it.
    pub(crate) fn needed_for(self, what: &str) -> String {
        let feature = self.feature();
        format!("{what} needs the feature {feature}, which this build leaves out: {INSTALL} {feature}")
    }
}

/// Returns the failure for a command of a part that is left out, or `None` for any other error.
pub(crate) fn command(error: &clap::Error) -> Option<Failure> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let part = Part::ALL.into_iter().find(|part| part.commands().contains(&&**name) && !part.is_built())?;
    Some(Failure::wrong_use(part.needed_for(&format!("the command {name}"))))
}

/// Defines a module that stands in for a kind of store.
#[allow(unused_macros, reason = "a build that leaves nothing out needs no stand-in")]
macro_rules! store_stand_in {
    ($name:ident, $part:expr) => {
        pub(crate) mod $name {
            use crate::exit::Failure;
            use crate::left_out::Part;
            use crate::store::{IfMissing, Opened, StoreUrl};

            fn refused(url: &StoreUrl) -> Failure {
                Failure::wrong_use($part.needed_for(&format!("store {url}:")))
            }

            pub(crate) async fn open(url: &StoreUrl, _: IfMissing) -> Result<Opened, Failure> {
                Err(refused(url))
            }

            #[cfg(feature = "conformance")]
            pub(crate) async fn test<T, R>(url: &StoreUrl, _: R) -> Result<T, Failure> {
                Err(refused(url))
            }

            #[cfg(feature = "conformance")]
            pub(crate) async fn serve(url: &StoreUrl, _: &str) -> Result<(), Failure> {
                Err(refused(url))
            }
        }
    };
}

#[cfg(not(feature = "postgres"))]
store_stand_in!(postgres, Part::Postgres);
#[cfg(not(feature = "redis"))]
store_stand_in!(redis, Part::Redis);

/// Defines a module that stands in for a kind of engine.
#[allow(unused_macros, reason = "a build that leaves nothing out needs no stand-in")]
macro_rules! engine_stand_in {
    ($name:ident, $part:expr) => {
        pub(crate) mod $name {
            use std::sync::Arc;

            use crate::engine::{EngineUrl, Scheduler};
            use crate::exit::Failure;
            use crate::left_out::Part;

            pub(crate) fn prepare(url: &EngineUrl) -> Result<Arc<dyn Scheduler>, Failure> {
                Err(Failure::wrong_use($part.needed_for(&format!("engine {url}:"))))
            }
        }
    };
}

#[cfg(not(feature = "restate"))]
engine_stand_in!(restate, Part::Restate);
#[cfg(not(feature = "temporal"))]
engine_stand_in!(temporal, Part::Temporal);

/// Stands in for the schedules of a store. Their sessions are left to workers that can run them.
#[cfg(not(feature = "schedules"))]
pub(crate) mod schedules {
    use std::sync::Arc;

    use holdover_core::payload::Payload;
    use holdover_core::store::StateStore;
    use holdover_runtime_local::{Agent, Definition, RuntimeOptions};

    use super::Part;
    use crate::exit::Failure;

    #[derive(Debug, Clone)]
    pub(crate) struct Timetable;

    impl Timetable {
        pub(crate) fn of(_: Arc<dyn StateStore>, _: RuntimeOptions) -> Result<Self, Failure> {
            Ok(Self)
        }

        pub(crate) fn agent(&self) -> Result<Arc<Agent>, String> {
            Err(Part::Schedules.needed_for("a schedule"))
        }
    }

    pub(crate) fn is_schedule(definition: &Payload) -> bool {
        Definition::read(definition)
            .is_ok_and(|definition| definition.spec.planned && definition.spec.name == "schedule")
    }
}

/// Stands in for the client for other programs.
#[cfg(not(feature = "serve"))]
pub(crate) mod other_programs {
    use std::sync::Arc;

    use holdover_core::remote::Remote;
    use holdover_runtime_local::Elsewhere;

    use super::Part;

    pub(crate) fn wire() -> Option<Arc<dyn Elsewhere>> {
        None
    }

    pub(crate) fn check(remote: &Remote) -> Result<(), String> {
        Err(Part::Serve.needed_for(&format!("agent at {}:", remote.url)))
    }
}

/// Stands in for models, gates and hooks that ask servers over HTTP. Scripts are played, and nothing else is connected.
#[cfg(not(feature = "http"))]
pub(crate) mod http {
    use std::sync::Arc;
    use std::time::Duration;

    use async_trait::async_trait;
    use holdover_core::gate::{GateError, GateQuestion, PolicyGate, Verdict};
    use holdover_core::hook::{Carrier, HookError};
    use holdover_core::model::{Model, ModelError, ModelErrorKind};
    use holdover_models::{ModelRef, Provider};

    use super::Part;

    pub(crate) fn connect(reference: &ModelRef) -> Result<Arc<dyn Model>, ModelError> {
        match reference.provider {
            Provider::Scripted => holdover_models::connect(reference),
            Provider::OpenAi | Provider::Anthropic => {
                let why = Part::Http.needed_for(&format!("model {reference}:"));
                Err(ModelError::new(ModelErrorKind::Configuration, why))
            }
        }
    }

    pub(crate) enum HttpGate {}

    impl HttpGate {
        pub(crate) fn new(_: &str) -> Result<Self, String> {
            Err(Part::Http.needed_for("gate: url:"))
        }

        pub(crate) fn bearer(self, _: &str) -> Result<Self, String> {
            match self {}
        }
    }

    #[async_trait]
    impl PolicyGate for HttpGate {
        async fn consult(&self, _: &GateQuestion) -> Result<Verdict, GateError> {
            match *self {}
        }
    }

    pub(crate) enum HttpCarrier {}

    impl HttpCarrier {
        pub(crate) fn new(_: &str) -> Result<Self, String> {
            Err(Part::Http.needed_for("url:"))
        }

        pub(crate) fn takes_token(&self) -> Result<(), String> {
            match *self {}
        }

        pub(crate) fn bearer(self, _: &str) -> Result<Self, String> {
            match self {}
        }
    }

    #[async_trait]
    impl Carrier for HttpCarrier {
        async fn carry(&self, _: String, _: Duration) -> Result<Vec<u8>, HookError> {
            match *self {}
        }
    }
}

/// Stands in for the tools of MCP servers.
#[cfg(not(feature = "mcp"))]
pub(crate) mod mcp {
    use std::sync::Arc;

    use holdover_core::tool::{Tool, ToolSpec};
    use holdover_mcp::McpServer;

    use super::Part;

    fn refused(server: &McpServer) -> String {
        Part::Mcp.needed_for(&format!("mcp server {:?}:", server.name))
    }

    pub(crate) async fn discover(server: &McpServer) -> Result<Vec<ToolSpec>, String> {
        Err(refused(server))
    }

    pub(crate) fn tools<'a>(
        server: &McpServer,
        _: impl Iterator<Item = &'a ToolSpec>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        Err(refused(server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_names_the_feature_and_the_command_that_builds_it() {
        let line = Part::Postgres.needed_for("store postgres://h/d:");
        assert_eq!(
            line,
            "store postgres://h/d: needs the feature postgres, which this build leaves out: \
             cargo install --locked --path cli --features postgres"
        );
    }
}
