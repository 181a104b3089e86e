//! Hashing: the default hasher, and the 32-bit hash of an item in slots and guards.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::num::NonZeroU32;

/// The default hasher of a queue: fast, and seeded anew in each process.
///
/// It resists accidental collisions. If an adversary chooses the items, give
/// [`Builder::hasher`](crate::Builder::hasher) a [`std::hash::RandomState`].
#[derive(Clone, Default)]
pub struct DefaultHasher(hashbrown::DefaultHashBuilder);

impl BuildHasher for DefaultHasher {
    type Hasher = ItemHasher;

    #[inline]
    fn build_hasher(&self) -> ItemHasher {
        ItemHasher(self.0.build_hasher())
    }
}

impl fmt::Debug for DefaultHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DefaultHasher")
    }
}

/// The hasher that [`DefaultHasher`] builds.
#[derive(Clone)]
pub struct ItemHasher(<hashbrown::DefaultHashBuilder as BuildHasher>::Hasher);

macro_rules! forward {
    ($($write:ident: $number:ty),* $(,)?) => {$(
        #[inline]
        fn $write(&mut self, number: $number) {
            self.0.$write(number);
        }
    )*};
}

impl Hasher for ItemHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    forward! {
        write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64, write_u128: u128, write_usize: usize,
        write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64, write_i128: i128, write_isize: isize,
    }
}

impl fmt::Debug for ItemHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ItemHasher")
    }
}

/// The hash of an item in one queue: 32 bits, never zero, so that an empty slot costs no extra
/// word.
///
/// [`WorkQueue::item_hash`](crate::WorkQueue::item_hash) returns it to layers above, which find
/// items of their own by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ItemHash(NonZeroU32);

/// Spreads the bits of a weak hash over the upper half of the product.
///
/// A user's hasher may count, end in zeros, or fill only one half. The multiplier is that of P.
/// Evensen's mixer rrmxmx, because hashers often multiply by 2^64 / golden ratio themselves.
const SPREAD: u64 = 0x9fb2_1c65_1e98_df25;

impl ItemHash {
    #[inline]
    pub(crate) fn of<T: Hash + ?Sized, S: BuildHasher>(item: &T, hasher: &S) -> Self {
        let folded = (hasher.hash_one(item).wrapping_mul(SPREAD) >> 32) as u32;
        Self(NonZeroU32::new(folded).unwrap_or(NonZeroU32::MIN))
    }

    /// The 32 bits. The high bits are the best.
    #[inline]
    #[must_use]
    pub const fn get(self) -> NonZeroU32 {
        self.0
    }

    #[cfg(test)]
    pub(crate) fn of_bits(bits: u32) -> Self {
        Self(NonZeroU32::new(bits).unwrap_or(NonZeroU32::MIN))
    }

    /// The hash of a small number, spread as a hasher would.
    #[cfg(test)]
    pub(crate) fn from_raw(raw: u32) -> Self {
        Self::of_bits(raw.wrapping_mul(0x9e37_79b9))
    }
}
