//! One object under many writers is a register: its history must be one that a single thread could
//! have made.

/// One access of a client to the object, with what came of it.
#[derive(Debug, Clone)]
pub struct Access {
    /// When it was sent: a tick of one clock that all clients share.
    pub sent: u64,
    /// When the answer was there.
    pub answered: u64,
    /// What happened.
    pub effect: Effect,
}

impl Access {
    /// An access between two ticks.
    #[must_use]
    pub const fn new(sent: u64, answered: u64, effect: Effect) -> Self {
        Self { sent, answered, effect }
    }
}

/// What an access did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It read this value at this version.
    Read {
        /// The version.
        version: u64,
        /// The value.
        value: u64,
    },
    /// It wrote this value, whatever was there, or from the version that it named; the version is
    /// that of the write.
    Wrote {
        /// The version it named.
        from: Option<u64>,
        /// The version of the write.
        version: u64,
        /// The value.
        value: u64,
    },
    /// It was refused, as the version that it named was not the current one.
    Conflicted {
        /// The version it named.
        from: u64,
    },
}

/// Whether there is an order of all accesses in which each takes effect between its sending and its
/// answer.
///
/// Versions say which order that is: the server's claim is checked, not searched for.
///
/// # Errors
///
/// The accesses that contradict each other.
pub fn linearizable(first: (u64, u64), history: &[Access]) -> Result<(), String> {
    // The writes in the order of their versions, with the first state before all of them.
    let mut writes = vec![(first.0, first.1, None, 0, 0)];
    for access in history {
        if let Effect::Wrote { from, version, value } = access.effect {
            writes.push((version, value, from, access.sent, access.answered));
        }
    }
    writes.sort_unstable();
    for pair in writes.windows(2) {
        let [(before, ..), (version, _, from, ..)] = pair else { continue };
        if before == version {
            return Err(format!("two writes have the version {version}"));
        }
        if from.is_some_and(|from| from != *before) {
            return Err(format!(
                "the write {version} was made from {from:?}, and the one before it is {before}"
            ));
        }
    }
    // No write is older than one that was answered before it was sent.
    let mut newest_sent = 0;
    for (version, _, _, sent, answered) in &writes {
        if *version != first.0 && *answered < newest_sent {
            return Err(format!(
                "the write {version} was answered before one with a lower version was sent"
            ));
        }
        newest_sent = newest_sent.max(*sent);
    }
    for access in history {
        // The states that the object can have had meanwhile: from the last write that was answered
        // before, on.
        let floor = writes
            .iter()
            .filter(|write| write.4 < access.sent)
            .map(|write| write.0)
            .max()
            .unwrap_or(first.0);
        match access.effect {
            Effect::Read { version, value } => {
                let Some(write) = writes.iter().find(|write| write.0 == version) else {
                    return Err(format!("{access:?} reads a version that nobody wrote"));
                };
                if write.1 != value {
                    return Err(format!(
                        "{access:?} reads another value than was written, {}",
                        write.1
                    ));
                }
                if version < floor {
                    return Err(format!("{access:?} reads a past before {floor}"));
                }
                if write.3 > access.answered {
                    return Err(format!("{access:?} reads the future"));
                }
            }
            Effect::Conflicted { from } => {
                let ceiling = writes
                    .iter()
                    .filter(|write| write.3 < access.answered)
                    .map(|write| write.0)
                    .max();
                if floor == from && ceiling == Some(from) {
                    return Err(format!(
                        "{access:?} is refused, and {from} was current all the time"
                    ));
                }
            }
            Effect::Wrote { .. } => {}
        }
    }
    // Reads one after the other never go back.
    let mut reads: Vec<_> = history
        .iter()
        .filter_map(|access| match access.effect {
            Effect::Read { version, .. } => Some((access.sent, access.answered, version)),
            _ => None,
        })
        .collect();
    reads.sort_unstable();
    for (sent, _, version) in &reads {
        let before =
            reads.iter().filter(|(_, answered, _)| answered < sent).map(|(.., seen)| *seen).max();
        if before.is_some_and(|before| before > *version) {
            return Err(format!("a read of {version} comes after a read of {before:?}"));
        }
    }
    Ok(())
}
