//! A process group that does not outlive its owner.

use rustix::process::{Pid, Signal, kill_process_group};

/// The process group of a command. Dropping it kills whatever is left of the group.
///
/// A process that moved to a group of its own (`setsid`) is out of its reach.
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group led by process `id`.
    pub(super) fn led_by(id: u32) -> Self {
        Self(i32::try_from(id).ok().and_then(Pid::from_raw))
    }

    /// Kills all of it, once: its number may belong to others as soon as the last of it is gone.
    pub(super) fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // An error says that nobody is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
