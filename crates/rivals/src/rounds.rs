//! Rounds of two rivals in turn, and the medians of what they reached.

use anyhow::Result;

/// What two rivals reached in each round, in the same unit.
#[derive(Debug, Clone)]
pub struct Compared {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Compared {
    /// The median of our rounds.
    #[must_use]
    pub fn ours(&self) -> f64 {
        median(&mut self.ours.clone())
    }

    /// The median of the peer's rounds.
    #[must_use]
    pub fn theirs(&self) -> f64 {
        median(&mut self.theirs.clone())
    }

    /// How many times the peer's is ours: the median of the rounds' ratios, so that a slow minute
    /// weighs on both sides of each.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        median(&mut self.ratios().collect::<Vec<_>>())
    }

    /// The lowest and the highest ratio of a round.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        self.ratios()
            .fold((f64::INFINITY, 0.0), |(low, high), ratio| (low.min(ratio), high.max(ratio)))
    }

    /// The highest of our rounds, and of the peer's.
    #[must_use]
    pub fn highest(&self) -> (f64, f64) {
        let highest = |rounds: &[f64]| rounds.iter().copied().fold(0.0, f64::max);
        (highest(&self.ours), highest(&self.theirs))
    }

    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs)
    }
}

/// Runs so many rounds, each of both, and who begins changes from round to round: what disturbs the
/// machine for a while disturbs both.
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
    let mut compared = Compared { ours: Vec::new(), theirs: Vec::new() };
    for round in 0..rounds.max(1) {
        if round % 2 == 0 {
            compared.ours.push(ours(round).await?);
            compared.theirs.push(theirs(round).await?);
        } else {
            compared.theirs.push(theirs(round).await?);
            compared.ours.push(ours(round).await?);
        }
    }
    Ok(compared)
}

/// The middle one, or the mean of the two in the middle; not a number if there are none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match (values.get(half), half.checked_sub(1).and_then(|before| values.get(before))) {
        (Some(upper), Some(lower)) if values.len().is_multiple_of(2) => {
            f64::midpoint(*lower, *upper)
        }
        (Some(middle), _) => *middle,
        (None, _) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::{Compared, interleaved, median};

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn a_ratio_is_one_of_a_round() {
        let compared = Compared { ours: vec![2.0, 40.0, 6.0], theirs: vec![1.0, 10.0, 2.0] };
        assert_eq!((compared.ratio(), compared.range()), (3.0, (2.0, 4.0)));
        assert_eq!((compared.ours(), compared.theirs()), (6.0, 2.0));
        assert_eq!(compared.highest(), (40.0, 10.0));
    }

    #[tokio::test]
    async fn who_begins_changes_from_round_to_round() {
        let order = std::cell::RefCell::new(String::new());
        let round = async |who: char| {
            order.borrow_mut().push(who);
            Ok(if who == 'a' { 6.0 } else { 2.0 })
        };
        let compared = interleaved(3, async |_| round('a').await, async |_| round('b').await).await;
        assert_eq!(compared.map(|compared| compared.ratio()).unwrap_or_default(), 3.0);
        assert_eq!(order.into_inner(), "abbaab");
    }
}
