//! Kills processes that a sandbox left behind: those that left its process group, and those whose run was killed.

/// The environment variable that marks every process of a sandbox.
pub(super) const MARK: &str = "HOLDOVER_SANDBOX";

#[cfg(target_os = "linux")]
pub(super) use linux::kill;

/// Does nothing: only Linux shows the environment of other processes.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill(_name: &str) -> std::io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::time::Duration;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    /// The maximum number of rounds: a process may start others faster than they are killed.
    const ROUNDS_MAX: usize = 200;
    const APART: Duration = Duration::from_millis(5);

    /// Kills every process of this user with the mark of sandbox `name`, until none is left. Fails if processes are
    /// left after [`ROUNDS_MAX`] rounds.
    pub(in super::super) fn kill(name: &str) -> io::Result<()> {
        let mark = format!("{}={name}", super::MARK);
        for _ in 0..ROUNDS_MAX {
            let mut found = false;
            for entry in std::fs::read_dir("/proc")? {
                let pid =
                    entry?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
                found |= pid.is_some_and(|pid| kill_if_marked(pid, mark.as_bytes()));
            }
            if !found {
                return Ok(());
            }
            std::thread::sleep(APART);
        }
        Err(io::Error::other("its processes go on"))
    }

    fn kill_if_marked(pid: Pid, mark: &[u8]) -> bool {
        if !is_marked(pid, mark) {
            return false;
        }
        // By now, the process number may belong to another process. A handle keeps naming the same process.
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) if is_marked(pid, mark) => pidfd_send_signal(process, Signal::KILL).is_ok(),
            Ok(_) | Err(_) => false,
        }
    }

    /// Returns true if the process has the mark. A process whose environment cannot be read belongs to another user or
    /// is dead.
    fn is_marked(pid: Pid, mark: &[u8]) -> bool {
        let environment = std::fs::read(format!("/proc/{pid}/environ"));
        environment.is_ok_and(|all| all.split(|&byte| byte == 0).any(|one| one == mark))
    }
}
