//! The authorities that a webhook's certificate may come from. Pure.

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};

/// The authorities of a PEM bundle. Without one none is known: those of the system are not read.
///
/// # Errors
///
/// Go's text, if the bundle has bytes and no certificate (`createErrorParsingCAData`).
#[doc(alias = "rootCertPool")]
pub(super) fn roots(bundle: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let mut unreadable = None;
    let mut blocks = 0_usize;
    for block in CertificateDer::pem_slice_iter(bundle) {
        blocks += 1;
        match block.map(|certificate| roots.add(certificate)) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => {
                unreadable
                    .get_or_insert("failed to parse certificate: x509: malformed certificate");
            }
            Err(pem::Error::NoItemsFound) => {}
            Err(_) => {
                unreadable.get_or_insert("unable to parse bytes as PEM block");
            }
        }
    }
    if !roots.is_empty() || bundle.is_empty() {
        return Ok(roots);
    }
    let none = match blocks {
        0 => "unable to parse bytes as PEM block",
        _ => "no valid certificate authority data seen",
    };
    Err(format!("unable to load root certificates: {}", unreadable.unwrap_or(none)))
}
