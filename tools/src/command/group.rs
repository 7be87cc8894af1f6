//! A process group that is killed with its owner.

use rustix::process::{Pid, Signal, kill_process_group};

/// The process group of a command. Dropping this value kills the remaining processes of the group.
///
/// A process that moved to a group of its own (`setsid`) is not killed.
pub(super) struct Group(Option<Pid>);

impl Group {
    /// Returns the group led by process `id`.
    pub(super) fn led_by(id: u32) -> Self {
        Self(i32::try_from(id).ok().and_then(Pid::from_raw))
    }

    /// Asks the processes of the group to end.
    pub(super) fn ask_to_end(&self) {
        if let Some(group) = self.0 {
            // An error means that no process is left.
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    /// Kills the whole group, at most once: after the last process is gone, another group may get the same number.
    pub(super) fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // An error means that no process is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
