//! Loopback ports for programs that must be told one: from a range that systems, as they come, give
//! to no connection.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use crate::error::Error;

/// Below what systems, unless they are told otherwise, give to whoever asks for any port (Linux
/// 32768 to 60999, by `ip_local_port_range`; others from 49152, by RFC 6335 section 6) and below
/// the NodePorts of services. A port out of theirs is taken by any connection, between being found
/// free and being listened on, and while the program that had it is started again.
const RANGE: Range<u16> = 20_000..30_000;

/// Ports tried before the range is called full.
const TRIES: u32 = 1_000;

/// Another program that is told its port may be told the same, and be first.
const ATTEMPTS: u32 = 3;

/// Starts what is told its port, which is free and not the promised one; on another one again, if
/// it ended and somebody else has that.
pub(crate) fn start_besides<R>(
    promised: u16,
    mut start: impl FnMut(u16) -> Result<R, Error>,
) -> Result<R, Error> {
    let mut attempt = 1;
    loop {
        let port = free_besides(promised)?;
        match start(port) {
            Err(Error::Ended { .. })
                if attempt < ATTEMPTS && matches!(check(port), Err(Error::PortTaken { .. })) =>
            {
                attempt += 1
            }
            started => return started,
        }
    }
}

/// A port, not this one, that is free at this moment, and that mostly none but another program that
/// is told its port would take.
fn free_besides(promised: u16) -> Result<u16, Error> {
    for _ in 0..TRIES {
        let port = fastrand::u16(RANGE);
        match check(port) {
            _ if port == promised => {}
            Err(Error::PortTaken { .. }) => {}
            checked => return checked,
        }
    }
    let Range { start, end } = RANGE;
    let source = io::ErrorKind::AddrInUse.into();
    Err(Error::Io {
        what: format!("find a free port of 127.0.0.1 from {start} to {}", end - 1),
        source,
    })
}

/// The port, if nobody has it.
pub(crate) fn check(port: u16) -> Result<u16, Error> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(port),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(Error::PortTaken { port }),
        Err(source) => Err(Error::Io { what: format!("listen on 127.0.0.1:{port}"), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::process::ExitStatus;

    use super::{ATTEMPTS, check, start_besides};
    use crate::component::Component;
    use crate::error::Error;

    fn ended() -> Error {
        Error::Ended {
            component: Component::Etcd,
            status: ExitStatus::default(),
            tail: String::new(),
        }
    }

    /// How often it was started, and what came of it, if somebody has its port the first so many
    /// times.
    fn started(taken: usize) -> (usize, Result<u16, Error>) {
        let mut others = Vec::new();
        let mut starts = 0;
        let came = start_besides(0, |port| {
            starts += 1;
            if starts > taken {
                return Ok(port);
            }
            others.push(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
            Err(ended())
        });
        assert!(came.as_ref().map_or(true, |port| check(*port).is_ok()));
        (starts, came)
    }

    #[test]
    fn what_ends_because_its_port_was_taken_starts_on_another() {
        assert!(matches!(started(0), (1, Ok(_))));
        assert!(matches!(started(1), (2, Ok(_))));
        let most = ATTEMPTS as usize;
        assert!(matches!(started(most), (starts, Err(Error::Ended { .. })) if starts == most));
    }

    #[test]
    fn what_ends_for_another_reason_does_not_start_again() {
        let mut starts = 0;
        let came = start_besides(0, |_| -> Result<(), Error> {
            starts += 1;
            Err(ended())
        });
        assert!(matches!((starts, came), (1, Err(Error::Ended { .. }))));
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        assert!(matches!(check(port), Err(Error::PortTaken { port: named }) if named == port));
    }
}
