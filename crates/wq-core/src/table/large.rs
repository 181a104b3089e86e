//! Large: of how many groups on a table is large, so that slots leave it together. A constant in the queue that is shipped. Where it
//! is checked, its ways to leave are both to be played with few items: the program then takes one of them for all its tables, by
//! the variable `WQ_TABLE`.

#[cfg(any(test, wq_plant, wq_loom, wq_shuttle, miri))]
pub(super) use chosen::Large;
#[cfg(not(any(test, wq_plant, wq_loom, wq_shuttle, miri)))]
pub(super) use shipped::Large;

#[cfg(not(any(test, wq_plant, wq_loom, wq_shuttle, miri)))]
mod shipped {
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Large;

    impl Large {
        pub(crate) const fn of_all_tables() -> Self {
            Self
        }

        /// So many, 2 MB, are not in the caches of one processor any more.
        #[inline(always)]
        pub(crate) const fn groups(self) -> usize {
            1 << 16
        }
    }
}

#[cfg(any(test, wq_plant, wq_loom, wq_shuttle, miri))]
mod chosen {
    use std::sync::LazyLock;

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Large(usize);

    impl Large {
        pub(crate) const fn from(groups: usize) -> Self {
            Self(groups)
        }

        /// `WQ_TABLE=small`: none is large; otherwise all are.
        pub(crate) fn of_all_tables() -> Self {
            static IS_SMALL: LazyLock<bool> =
                LazyLock::new(|| std::env::var("WQ_TABLE").is_ok_and(|table| table == "small"));
            Self::from(if *IS_SMALL { usize::MAX } else { 1 })
        }

        pub(crate) const fn groups(self) -> usize {
            self.0
        }
    }
}
