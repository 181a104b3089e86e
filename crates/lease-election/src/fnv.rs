//! Fnv: FNV-1a, a digest that is the same in every build, because stores keep marks made with it.

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x100_0000_01b3;

#[derive(Clone, Copy)]
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Self {
        Self(OFFSET_BASIS)
    }

    /// Adds these bytes to the digest.
    pub(crate) fn with(self, bytes: &[u8]) -> Self {
        Self(
            bytes
                .iter()
                .fold(self.0, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(PRIME)),
        )
    }

    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of <http://www.isthe.com/chongo/tech/comp/fnv/>.
    #[test]
    fn it_is_fnv_1a_of_64_bits() {
        for (bytes, digest) in
            [("", OFFSET_BASIS), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(Fnv::new().with(bytes.as_bytes()).finish(), digest, "{bytes}");
        }
    }
}
