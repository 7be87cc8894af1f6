//! The signals that this process obeys.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Exit, Failure};

/// What the process was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Ctrl-C.
    Interrupt,
    /// To end, or its terminal is gone.
    Terminate,
}

impl Told {
    /// The code to end with if it is obeyed at once.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::Killed,
            Self::Terminate => Exit::Terminated,
        }
    }
}

/// Listens from its making on: from then a signal does not end the process by itself.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Begins to listen.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::failed(format!("cannot listen to signals: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told::Interrupt,
            _ = self.terminate.recv() => Told::Terminate,
            _ = self.hang_up.recv() => Told::Terminate,
        }
    }
}
