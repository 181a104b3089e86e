//! Last words: the line on stderr before an abort, which it must never hold up.
//!
//! A lock, an allocation or a write to a full pipe may block for ever: it does none of them.

use std::fmt;
use std::io::Write as _;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The greatest length that every system writes to a pipe in one piece.
const LONGEST: usize = 512;

/// Writes why the process ends, if stderr takes it at once, and aborts.
pub(super) fn abort(overdue: &dyn fmt::Display) -> ! {
    let mut buffer = [0; LONGEST];
    let line = line(&mut buffer, overdue);
    write_if_it_fits(rustix::stdio::stderr(), line);
    std::process::abort()
}

/// The line, cut to the buffer, always with its newline.
fn line<'a>(buffer: &'a mut [u8; LONGEST], overdue: &dyn fmt::Display) -> &'a [u8] {
    let mut free = &mut buffer[..LONGEST - 1];
    // An error means only that the rest did not fit.
    let _ = write!(free, "lease-election: {overdue}: the watchdog aborts the process");
    let length = LONGEST - 1 - free.len();
    buffer[length] = b'\n';
    &buffer[..=length]
}

fn write_if_it_fits(out: impl AsFd, line: &[u8]) {
    let mut polled = [PollFd::new(&out, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents().contains(PollFlags::OUT) {
        let _ = rustix::io::write(&out, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_and_ends() {
        let mut buffer = [0; LONGEST];
        let text = String::from_utf8(line(&mut buffer, &"why").to_vec()).unwrap();
        assert_eq!(text, "lease-election: why: the watchdog aborts the process\n");
        let cut = line(&mut buffer, &"x".repeat(10_000));
        assert_eq!((cut.len(), cut.last()), (LONGEST, Some(&b'\n')));
    }
}
