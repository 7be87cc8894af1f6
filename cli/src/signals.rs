//! The signals that this process handles.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Exit, Failure};

/// The signal that the process received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM, or SIGHUP when the terminal is lost.
    Terminate,
}

impl Told {
    /// Returns the exit of a process that stops at once because of this signal.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::Killed,
            Self::Terminate => Exit::Terminated,
        }
    }
}

/// A listener for Ctrl-C, SIGTERM and SIGHUP. Once it is created, these signals do not end the process by themselves.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
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

    /// Waits for the next signal, and returns it.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told::Interrupt,
            _ = self.terminate.recv() => Told::Terminate,
            _ = self.hang_up.recv() => Told::Terminate,
        }
    }
}
