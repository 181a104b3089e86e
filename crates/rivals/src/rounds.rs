//! Rounds of two rivals in turn, and the medians of what they took.

use anyhow::Result;

/// What two rivals reached, ours first; in the same unit.
#[derive(Debug, Clone, Copy)]
pub struct Compared {
    /// The median of our rounds.
    pub ours: f64,
    /// The median of the peer's rounds.
    pub theirs: f64,
}

impl Compared {
    /// How many times the peer's is ours.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.ours / self.theirs
    }
}

/// Runs so many rounds, each of both, and who begins changes from round to round: what disturbs the machine for a while
/// disturbs both.
///
/// # Errors
///
/// The first one of a round.
///
/// # Cancel safety
///
/// A dropped run leaves the round under way as it is.
pub async fn interleaved(
    rounds: usize,
    mut ours: impl AsyncFnMut(usize) -> Result<f64>,
    mut theirs: impl AsyncFnMut(usize) -> Result<f64>,
) -> Result<Compared> {
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds.max(1) {
        if round % 2 == 0 {
            of_ours.push(ours(round).await?);
            of_theirs.push(theirs(round).await?);
        } else {
            of_theirs.push(theirs(round).await?);
            of_ours.push(ours(round).await?);
        }
    }
    Ok(Compared { ours: median(&mut of_ours), theirs: median(&mut of_theirs) })
}

/// The middle one, or the mean of the two in the middle; not a number if there are none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match (values.get(half), half.checked_sub(1).and_then(|before| values.get(before))) {
        (Some(upper), Some(lower)) if values.len().is_multiple_of(2) => f64::midpoint(*lower, *upper),
        (Some(middle), _) => *middle,
        (None, _) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::{interleaved, median};

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
        assert!(median(&mut []).is_nan());
    }

    #[tokio::test]
    async fn who_begins_changes_from_round_to_round() {
        let order = std::cell::RefCell::new(String::new());
        let round = async |who: char| {
            order.borrow_mut().push(who);
            Ok(if who == 'a' { 6.0 } else { 2.0 })
        };
        let compared = interleaved(3, async |_| round('a').await, async |_| round('b').await).await;
        assert_eq!(compared.map(super::Compared::ratio).unwrap_or_default(), 3.0);
        assert_eq!(order.into_inner(), "abbaab");
    }
}
