//! A child process with everything that it starts: one process group, ended as one.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How long waiting for an end sleeps between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// A process that leads a group of its own. Dropping it ends the group.
///
/// A process that leaves the group on purpose (`setsid`) is not ended with it.
#[derive(Debug)]
pub struct Group {
    child: Child,
    reaped: bool,
}

impl Group {
    /// Starts the command at the head of a new process group.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.process_group(0).spawn()?, reaped: false })
    }

    /// The pipe to its stdin, once.
    pub fn stdin(&mut self) -> io::Result<ChildStdin> {
        self.child.stdin.take().ok_or_else(|| io::Error::other("no pipe to stdin"))
    }

    /// The pipe from its stdout, once.
    pub fn stdout(&mut self) -> io::Result<ChildStdout> {
        self.child.stdout.take().ok_or_else(|| io::Error::other("no pipe from stdout"))
    }

    /// The pipe from its stderr, once.
    pub fn stderr(&mut self) -> io::Result<ChildStderr> {
        self.child.stderr.take().ok_or_else(|| io::Error::other("no pipe from stderr"))
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Waits until the leader has ended, at most this long; whether it has. It stays a zombie, so that nobody else can get
    /// the group's number before the group is ended.
    pub fn wait(&self, patience: Duration) -> bool {
        let Some(pid) = self.pid() else { return true };
        let until = Instant::now() + patience;
        loop {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(pid), options) {
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(ended) => return ended.is_some(),
                Err(_) => return true,
            }
        }
    }

    /// Ends whatever is left of the group; how its leader ended.
    pub fn end(mut self) -> io::Result<ExitStatus> {
        self.kill()
    }

    fn kill(&mut self) -> io::Result<ExitStatus> {
        self.reaped = true;
        if let Some(pid) = self.pid() {
            // That there is nothing left is the usual case.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str) -> Group {
        Group::start(Command::new("sh").args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped())).unwrap()
    }

    #[test]
    fn what_ended_by_itself_keeps_its_status() {
        let group = shell("exit 7");
        assert!(group.wait(Duration::from_secs(10)));
        assert_eq!(group.end().unwrap().code(), Some(7));
    }

    #[test]
    fn the_whole_group_ends_with_its_leader() {
        use std::io::Read;
        let mut group = shell("sleep 600 & sleep 600");
        let mut output = group.stdout().unwrap();
        assert!(!group.wait(Duration::from_millis(20)));
        assert_eq!(group.end().unwrap().code(), None);
        // The background process holds the pipe: it is at its end only when that one has ended, too.
        assert_eq!(output.read(&mut [0]).unwrap(), 0);
        drop(shell("sleep 600"));
    }
}
