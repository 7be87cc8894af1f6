//! A process group that does not outlive its owner.

use rustix::process::{Pid, Signal, kill_process_group};

/// The process group of a command. Dropping it kills whatever is left of the group.
///
/// It does not reach a process that moved to a group of its own (`setsid`).
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group led by process `id`.
    pub(super) fn led_by(id: u32) -> Self {
        Self(i32::try_from(id).ok().and_then(Pid::from_raw))
    }

    /// Kills the whole group, once: after its last process is gone, its number may belong to another group.
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
