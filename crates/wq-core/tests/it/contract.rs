//! Contract: runs the test suite of all queues on this one.

mod fifo {
    use wq_core::WorkQueue;

    wq_contract::contract_tests! { queue: WorkQueue::<u64>::new(), run: pollster::block_on }
}

mod fifo_on_tokio {
    use std::future::Future;

    use wq_core::WorkQueue;

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    wq_contract::contract_tests! { queue: WorkQueue::<u64>::new(), run: run }
}

#[cfg(not(miri))]
mod fifo_on_smol {
    use std::future::Future;

    use wq_core::WorkQueue;

    fn run<F: Future>(future: F) -> F::Output {
        smol::block_on(smol::LocalExecutor::new().run(future))
    }

    wq_contract::contract_tests! { queue: WorkQueue::<u64>::new(), run: run }
}

mod blocking {
    use wq_core::WorkQueue;

    wq_contract::blocking_contract_tests! { queue: WorkQueue::<u64>::new() }
}

mod room {
    use wq_core::WorkQueue;

    wq_contract::room_contract_tests! { queue: WorkQueue::<u64>::builder().capacity(1).build().unwrap() }
}

mod other_hasher {
    use std::hash::RandomState;

    use wq_core::WorkQueue;

    wq_contract::contract_tests! {
        queue: WorkQueue::<u64>::builder().hasher(RandomState::new()).build().unwrap(),
        run: pollster::block_on,
    }
}

mod colliding_hasher {
    use std::hash::{BuildHasherDefault, Hasher};

    use wq_core::WorkQueue;

    #[derive(Default)]
    struct Same;

    impl Hasher for Same {
        fn finish(&self) -> u64 {
            0
        }

        fn write(&mut self, _bytes: &[u8]) {}
    }

    wq_contract::contract_tests! {
        queue: WorkQueue::<u64>::builder().hasher(BuildHasherDefault::<Same>::default()).build().unwrap(),
        run: pollster::block_on,
    }
}
