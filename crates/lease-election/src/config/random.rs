//! Random: the bits that name electors and their writes. No two processes may draw the same (A5):
//! the names tell one elector's writes from another's.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// 64 bits that the operating system draws for this call. They differ between processes, also in a
/// copy of this one (a fork, a virtual machine restored twice from one snapshot).
pub(crate) fn random() -> u64 {
    drawn().unwrap_or_else(|| RandomState::new().build_hasher().finish())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn drawn() -> Option<u64> {
    let mut bytes = [0; 8];
    loop {
        // Right after a boot this waits for entropy. The kernel returns so few bytes whole.
        match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
            Ok(8) => return Some(u64::from_ne_bytes(bytes)),
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}

/// On other systems std draws once for each thread, and counts on from there.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn drawn() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_draw_is_another() {
        let draws: std::collections::HashSet<u64> = (0..1000).map(|_| random()).collect();
        assert_eq!(draws.len(), 1000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_draws() {
        assert_ne!(drawn(), None);
    }
}
