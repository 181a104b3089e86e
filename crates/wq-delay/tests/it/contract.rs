//! Contract: runs the test suite of all queues on this one.

fn manual() -> wq_delay::DelayingQueue<u64> {
    wq_delay::DelayingQueue::builder().timer(wq_delay::ManualTimer::new()).build().unwrap()
}

mod manual_timer {
    wq_contract::contract_tests! { queue: super::manual(), run: pollster::block_on }
}

mod merge {
    wq_contract::contract_tests! {
        queue: wq_delay::DelayingQueue::<u64>::builder()
            .timer(wq_delay::ManualTimer::new())
            .immediate_add(wq_delay::ImmediateAdd::Merge)
            .build()
            .unwrap(),
        run: pollster::block_on,
    }
}

mod defer {
    wq_contract::contract_tests! {
        queue: wq_delay::DelayingQueue::<u64>::builder()
            .timer(wq_delay::ManualTimer::new())
            .immediate_add(wq_delay::ImmediateAdd::Defer)
            .hasher(std::hash::RandomState::new())
            .build()
            .unwrap(),
        run: pollster::block_on,
    }
}

#[cfg(feature = "tokio")]
mod tokio_timer {
    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(future)
    }

    wq_contract::contract_tests! {
        queue: wq_delay::DelayingQueue::<u64>::builder()
            .timer(wq_delay::TokioTimer::current().unwrap())
            .build()
            .unwrap(),
        run: run,
    }
}

mod blocking_manual_timer {
    wq_contract::blocking_contract_tests! { queue: super::manual() }
}

mod blocking_thread_timer {
    wq_contract::blocking_contract_tests! {
        queue: wq_delay::DelayingQueue::<u64>::builder()
            .timer(wq_delay::ThreadTimer)
            .build_blocking()
            .unwrap()
    }
}

mod room_manual_timer {
    wq_contract::room_contract_tests! {
        queue: wq_delay::DelayingQueue::<u64>::builder()
            .timer(wq_delay::ManualTimer::new())
            .capacity(1)
            .build()
            .unwrap()
    }
}

mod room_thread_timer {
    wq_contract::room_contract_tests! {
        queue: wq_delay::DelayingQueue::<u64>::builder()
            .timer(wq_delay::ThreadTimer)
            .immediate_add(wq_delay::ImmediateAdd::Merge)
            .capacity(1)
            .build_blocking()
            .unwrap()
    }
}
