//! The scripts. Each script on sessions is built from shared files and a file of its own, and each file may use those
//! before it. No script decides what is written to a session: it reads, compares a token, and runs commands that it
//! was given.

use std::sync::LazyLock;

/// The clock that a script reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockSource {
    /// The server's clock.
    Server,
    /// A key of each partition, which a test changes.
    #[cfg(feature = "test-access")]
    Key,
}

impl ClockSource {
    fn source(self) -> &'static str {
        match self {
            Self::Server => include_str!("../scripts/prelude/now_server.lua"),
            #[cfg(feature = "test-access")]
            Self::Key => include_str!("../scripts/prelude/now_key.lua"),
        }
    }
}

const STORE: &str = include_str!("../scripts/prelude/store.lua");

/// The kind of access that a script declares to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    Reads,
    Writes,
    /// Writes even when no memory is left, because it frees some.
    Removes,
}

impl Does {
    fn flags(self) -> &'static str {
        match self {
            Self::Reads => "#!lua flags=no-writes\n",
            Self::Writes => "#!lua\n",
            Self::Removes => "#!lua flags=allow-oom\n",
        }
    }
}

/// One script, with the hash by which a server knows it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) source: String,
    pub(crate) sha: String,
}

impl Script {
    fn new(does: Does, parts: &[&str]) -> Self {
        let source = format!("{}{}", does.flags(), parts.concat());
        let sha = redis::Script::new(&source).get_hash().to_owned();
        Self { source, sha }
    }

    /// Creates a script for a test, without the shared files.
    #[cfg(feature = "test-access")]
    pub(crate) fn plain(source: &str) -> Self {
        Self::new(Does::Writes, &[source])
    }

    fn shared(clock: ClockSource, does: Does, own: &[&str]) -> Self {
        let wire = include_str!("../scripts/prelude/wire.lua");
        Self::new(does, &[&[wire, clock.source(), STORE], own].concat())
    }
}

macro_rules! scripts {
    ($($name:ident $does:ident $($source:literal)+,)*) => {
        /// Every script of a store.
        #[derive(Debug)]
        pub(crate) struct Scripts {
            $(pub(crate) $name: Script,)*
        }

        impl Scripts {
            fn new(clock: ClockSource) -> Self {
                Self {
                    $($name: Script::shared(
                        clock,
                        Does::$does,
                        &[$(include_str!(concat!("../scripts/", $source, ".lua"))),+],
                    ),)*
                }
            }
        }
    };
}

scripts! {
    read Reads "read",
    walk Reads "walk",
    due Reads "prelude/turn" "due",
    turns Reads "prelude/turn" "turns",
    look Reads "look",
    graves Reads "graves",
    apply Writes "apply",
    // The same script, for writes that free memory.
    remove Removes "apply",
    adopt Writes "adopt",
    fork_source Reads "fork_source",
    fork_read Reads "fork_read",
    fork_write Writes "fork_write",
    scan Reads "scan",
}

impl Scripts {
    /// Returns the scripts that read this clock. They are built once.
    pub(crate) fn of(clock: ClockSource) -> &'static Self {
        static SERVER: LazyLock<Scripts> = LazyLock::new(|| Scripts::new(ClockSource::Server));
        #[cfg(feature = "test-access")]
        static KEY: LazyLock<Scripts> = LazyLock::new(|| Scripts::new(ClockSource::Key));
        match clock {
            ClockSource::Server => &SERVER,
            #[cfg(feature = "test-access")]
            ClockSource::Key => &KEY,
        }
    }
}

/// Reads the fixed parameters of a store.
pub(crate) static LOOK: LazyLock<Script> =
    LazyLock::new(|| Script::new(Does::Reads, &[include_str!("../scripts/look_store.lua")]));

/// Reads the mark of a partition.
pub(crate) static LOOK_AT: LazyLock<Script> =
    LazyLock::new(|| Script::new(Does::Reads, &[include_str!("../scripts/look_partition.lua")]));

/// Finds out whether the server would let a script write.
pub(crate) static TRY_WRITE: LazyLock<Script> =
    LazyLock::new(|| Script::new(Does::Writes, &[include_str!("../scripts/try_write.lua")]));

/// Creates, changes or reads the fixed parameters of a store.
pub(crate) static FOUND: LazyLock<Script> =
    LazyLock::new(|| Script::new(Does::Writes, &[include_str!("../scripts/found_store.lua")]));

/// Marks a partition as one of the store.
pub(crate) static MARK: LazyLock<Script> =
    LazyLock::new(|| Script::new(Does::Writes, &[include_str!("../scripts/mark_partition.lua")]));
