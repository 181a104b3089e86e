//! Loopback ports for programs that must be told one: from a range that systems, as they come, give to no connection.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use crate::error::Error;

/// Below what systems, unless they are told otherwise, give to whoever asks for any port (Linux 32768 to 60999, by `ip_local_port_range`; others from 49152, by
/// RFC 6335 section 6) and below the NodePorts of services. A port out of theirs is taken by any connection, between being found
/// free and being listened on, and while the program that had it is started again.
const RANGE: Range<u16> = 20_000..30_000;

/// Ports tried before the range is called full.
const TRIES: u32 = 1_000;

/// A port, not this one, that is free at this moment, and that mostly none but another program that is told its port would take.
pub(crate) fn free_besides(promised: u16) -> Result<u16, Error> {
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
    Err(Error::Io { what: format!("find a free port of 127.0.0.1 from {start} to {}", end - 1), source })
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

    use super::check;
    use crate::error::Error;

    #[test]
    fn a_port_that_is_taken_is_named() {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        assert!(matches!(check(port), Err(Error::PortTaken { port: named }) if named == port));
    }
}
