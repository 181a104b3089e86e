//! Columns of `kubectl get` and their cells, as in pkg/printers/internalversion/printers.go of
//! Kubernetes.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::strategy::age;

/// A column: its header and its cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    name: &'static str,
    /// Whether only `-o wide` shows it.
    wide: bool,
    /// Its type and format, if the cells do not tell them.
    declared: Option<(&'static str, &'static str)>,
    cell: Cell,
}

/// The source of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell {
    /// The member at a path, or else this text.
    Member(&'static str, &'static str),
    /// The number of members at these paths together.
    Count(&'static [&'static str]),
    /// The time since the first of these.
    Since(&'static [&'static str]),
    /// The creation time. kubectl shows its age.
    Created,
    /// A function of the object.
    Made(fn(&Value) -> Value),
    /// A function of the object and the current time.
    Timed(fn(&Value, Timestamp) -> Value),
    /// The number at a path. Defaults to zero.
    Number(&'static str),
    /// The number of items of the list at a path.
    Items(&'static str),
    /// The boolean at a path. Defaults to false.
    Is(&'static str),
}

/// A column that is always shown.
pub(crate) const fn column(name: &'static str, cell: Cell) -> Column {
    Column { name, wide: false, declared: None, cell }
}

/// A column that only `-o wide` shows.
pub(crate) const fn wide(name: &'static str, cell: Cell) -> Column {
    Column { name, wide: true, declared: None, cell }
}

/// The name of the object.
pub(crate) const NAME: Column = column("Name", Cell::Member("/metadata/name", ""));
/// The age of the object.
pub(crate) const AGE: Column = column("Age", Cell::Since(&["/metadata/creationTimestamp"]));

/// The default columns.
#[doc(alias = "defaultTableConvertor")]
pub(crate) static DEFAULT: &[Column] = &[NAME, column("Created At", Cell::Created)];

impl Column {
    /// The column, with type `string`.
    pub(crate) const fn of_text(self) -> Self {
        self.of("string")
    }

    /// The column, with this type and no format.
    pub(crate) const fn of(self, kind: &'static str) -> Self {
        Self { declared: Some((kind, "")), ..self }
    }

    /// The column, with format `name`.
    pub(crate) const fn of_name(self) -> Self {
        Self { declared: Some(("string", "name")), ..self }
    }

    /// Its entry in `columnDefinitions`.
    pub(crate) fn definition(&self) -> Value {
        let (kind, format) = match (self.declared, self.cell) {
            (Some(declared), _) => declared,
            (None, Cell::Created) => ("date", ""),
            (None, Cell::Number(_) | Cell::Items(_)) => ("integer", ""),
            (None, Cell::Is(_)) => ("boolean", ""),
            (None, Cell::Member("/metadata/name", _)) => ("string", "name"),
            (None, _) if self.name == "Name" => ("string", "name"),
            (None, _) => ("string", ""),
        };
        let priority = i32::from(self.wide);
        json!({
            "name": self.name, "type": kind, "format": format,
            "description": "", "priority": priority,
        })
    }

    /// Its cell in the row of an object.
    pub(crate) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match self.cell {
            Cell::Member(path, otherwise) => match object.pointer(path) {
                Some(Value::String(text)) if !text.is_empty() => text.as_str().into(),
                Some(Value::Number(number)) => number.to_string().into(),
                _ => otherwise.into(),
            },
            Cell::Count(paths) => {
                let sizes = paths.iter().filter_map(|path| object.pointer(path)?.as_object());
                sizes.map(serde_json::Map::len).sum::<usize>().into()
            }
            Cell::Since(paths) => since(object, paths, now).into(),
            // A bookmark has no time: Go's zero.
            Cell::Created => match &object["metadata"]["creationTimestamp"] {
                Value::Null => "0001-01-01T00:00:00Z".into(),
                created => created.clone(),
            },
            Cell::Made(make) => make(object),
            Cell::Timed(make) => make(object, now),
            Cell::Number(path) => object.pointer(path).and_then(Value::as_i64).unwrap_or(0).into(),
            Cell::Is(path) => (object.pointer(path) == Some(&Value::Bool(true))).into(),
            Cell::Items(path) => {
                object.pointer(path).and_then(Value::as_array).map_or(0, Vec::len).into()
            }
        }
    }
}

fn since(object: &Value, paths: &[&str], now: Timestamp) -> String {
    let time =
        paths.iter().find_map(|path| object.pointer(path)?.as_str()?.parse::<Timestamp>().ok());
    match time {
        Some(time) => age::human(now.as_second().saturating_sub(time.as_second())),
        None => "<unknown>".to_owned(),
    }
}
