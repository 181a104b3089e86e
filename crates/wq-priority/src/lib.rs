//! A wq-core backlog that orders by priority with ageing, and shares fairly between groups.
