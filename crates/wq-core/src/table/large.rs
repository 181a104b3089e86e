//! Large: the size from which a table is large, so that slots leave it together.
//!
//! The shipped queue has a constant. Builds of checks play both ways with few items: the variable
//! `WQ_TABLE` chooses one for all tables of a program.

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

        /// This many groups, 2 MB, no longer fit in the caches of one processor.
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

        /// `WQ_TABLE=small`: no table is large. Otherwise all tables are.
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
