//! Contract: runs the test suite of all queues on this one.

use wq_ratelimit::{
    ExponentialBackoff, ManualTimer, MaxOf, RateLimitingQueue, ThreadTimer, TokenBucket,
    controller_default,
};

type Queue = RateLimitingQueue<u64, MaxOf<ExponentialBackoff<u64>, TokenBucket>>;

fn manual() -> Queue {
    RateLimitingQueue::builder()
        .limiter(controller_default())
        .timer(ManualTimer::new())
        .build()
        .unwrap()
}

fn threads() -> Queue {
    RateLimitingQueue::builder()
        .limiter(controller_default())
        .timer(ThreadTimer)
        .build_blocking()
        .unwrap()
}

mod manual_timer {
    wq_contract::contract_tests! { queue: super::manual(), run: pollster::block_on }
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
        queue: wq_ratelimit::RateLimitingQueue::<u64, _>::builder()
            .limiter(wq_ratelimit::controller_default())
            .timer(wq_ratelimit::TokioTimer::current().unwrap())
            .build()
            .unwrap(),
        run: run,
    }
}

mod blocking {
    wq_contract::blocking_contract_tests! { queue: super::threads() }
}

mod room {
    wq_contract::room_contract_tests! {
        queue: wq_ratelimit::RateLimitingQueue::builder()
            .limiter(wq_ratelimit::controller_default::<u64>())
            .timer(wq_ratelimit::ThreadTimer)
            .capacity(1)
            .build_blocking()
            .unwrap()
    }
}
