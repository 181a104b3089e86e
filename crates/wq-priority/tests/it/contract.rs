//! Contract: the suite that all queues pass, on queues with priorities.

mod with_priorities {
    wq_contract::contract_tests! {
        queue: wq_core::WorkQueue::<u64>::builder().backlog(wq_priority::Priority::new()).build().unwrap(),
        run: pollster::block_on,
    }
}

mod blocking {
    wq_contract::blocking_contract_tests! {
        queue: wq_core::WorkQueue::<u64>::builder().backlog(wq_priority::Priority::new()).build().unwrap()
    }
}

mod room {
    wq_contract::room_contract_tests! {
        queue: wq_core::WorkQueue::<u64>::builder()
            .backlog(wq_priority::Priority::new())
            .capacity(1)
            .build()
            .unwrap()
    }
}

mod delaying {
    wq_contract::contract_tests! {
        queue: wq_delay::DelayingQueue::<u64>::builder()
            .timer(wq_delay::ManualTimer::new())
            .backlog(wq_priority::Priority::new())
            .build()
            .unwrap(),
        run: pollster::block_on,
    }
}

mod rate_limiting {
    wq_contract::contract_tests! {
        queue: wq_ratelimit::RateLimitingQueue::builder()
            .limiter(wq_ratelimit::controller_default::<u64>())
            .timer(wq_delay::ManualTimer::new())
            .backlog(wq_priority::Priority::new())
            .build()
            .unwrap(),
        run: pollster::block_on,
    }
}

mod surveys {
    mod measured {
        #[derive(Debug)]
        struct Measuring;

        impl wq_core::Observer for Measuring {}

        wq_contract::survey_contract_tests! {
            queue: wq_core::WorkQueue::<u64>::builder()
                .observer(Measuring)
                .backlog(wq_priority::Priority::new())
                .build()
                .unwrap(),
            depth: wq_priority::Depths::total,
        }
    }

    mod not_measured {
        wq_contract::survey_contract_tests! {
            queue: wq_core::WorkQueue::<u64>::builder().backlog(wq_priority::Priority::new()).build().unwrap(),
            depth: wq_priority::Depths::total,
        }
    }

    mod delaying {
        wq_contract::survey_contract_tests! {
            queue: wq_delay::DelayingQueue::<u64>::builder()
                .timer(wq_delay::ManualTimer::new())
                .backlog(wq_priority::Priority::new())
                .build()
                .unwrap(),
            depth: wq_priority::Depths::total,
        }
    }

    mod rate_limiting {
        wq_contract::survey_contract_tests! {
            queue: wq_ratelimit::RateLimitingQueue::builder()
                .limiter(wq_ratelimit::controller_default::<u64>())
                .timer(wq_delay::ManualTimer::new())
                .backlog(wq_priority::Priority::new())
                .build()
                .unwrap(),
            depth: wq_priority::Depths::total,
        }
    }
}
