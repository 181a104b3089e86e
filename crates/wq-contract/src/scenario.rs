//! Scenario: what the programs of the model checkers play, by name.

/// A small world under a model checker.
#[derive(Debug)]
pub struct Scenario {
    /// The function's.
    pub name: &'static str,
    /// One sentence.
    pub shows: &'static str,
    /// Plays one schedule.
    pub run: fn(),
}

/// A scenario: its function, and one sentence that says what it shows.
#[macro_export]
macro_rules! scenario {
    ($file:ident::$name:ident, $shows:literal) => {
        $crate::scenario::Scenario { name: stringify!($name), shows: $shows, run: $file::$name }
    };
}

/// What `--list` prints.
pub(crate) fn list(scenarios: &[Scenario]) {
    scenarios.iter().for_each(|scenario| println!("{} {}", scenario.name, scenario.shows));
}
