//! A FIFO work queue that never hands one item to two workers and never forgets an add.
