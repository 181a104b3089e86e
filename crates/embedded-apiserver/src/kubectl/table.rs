//! Tables for kubectl: converts a JSON response to rows of cells.

mod printed;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api_front::Body;
use futures::{FutureExt, StreamExt};
use http::{HeaderMap, Response};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::clock::Clock;
use crate::api::media;
use crate::api::query::Query;
use crate::api::status::Status;
use crate::strategy::columns::{self, Column};
use crate::strategy::resource::ServedResource;

/// The options of a table.
#[derive(Debug)]
pub(crate) struct TableOptions {
    include: Include,
}

/// The object in each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

impl TableOptions {
    pub(crate) fn of(headers: &HeaderMap, query: &Query) -> Result<Option<Self>, Status> {
        if !media::prefers_table(headers) {
            return Ok(None);
        }
        let include = match query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Include::Metadata,
            "None" => Include::Nothing,
            "Object" => Include::Object,
            other => {
                let why = format!("unrecognized includeObject value: {other:?}");
                return Err(Status::bad_request(why));
            }
        };
        Ok(Some(Self { include }))
    }

    /// Converts a response to a table. A response without objects of the kind stays as it is.
    pub(crate) fn convert(
        self,
        kind: &Arc<ServedResource>,
        clock: &Clock,
        response: Response<Body>,
    ) -> Response<Body> {
        let (mut parts, body) = response.into_parts();
        let printer = Printer { kind: Arc::clone(kind), include: self.include };
        if body.is_stream() {
            let clock = clock.clone();
            let mut first = true;
            let lines = body.into_stream().map(move |line| {
                let line = line?;
                let Some(table) = printer.event(&line, std::mem::take(&mut first), clock.now())
                else {
                    return Ok(line);
                };
                Ok(format!("{table}\n").into())
            });
            return Response::from_parts(parts, Body::stream(lines));
        }
        // The body is complete.
        let Some(Some(Ok(bytes))) = body.into_stream().next().now_or_never() else {
            return Response::from_parts(parts, Body::empty());
        };
        let table = serde_json::from_slice(&bytes)
            .ok()
            .and_then(|value| printer.answer(value, clock.now()));
        let Some(table) = table else { return Response::from_parts(parts, Body::full(bytes)) };
        parts.headers.remove(http::header::CONTENT_LENGTH);
        Response::from_parts(parts, Body::full(table.to_string()))
    }
}

/// The metadata of a table with one object: its resourceVersion.
fn of_version(object: &Value) -> Value {
    let version = &object["metadata"]["resourceVersion"];
    if version.is_null() { json!({}) } else { json!({ "resourceVersion": version }) }
}

/// Whether the row's object ends the initial events of a watch.
fn ends_initial_events(object: &Value) -> bool {
    object["metadata"]["annotations"].get("k8s.io/initial-events-end").is_some()
}

struct Printer {
    kind: Arc<ServedResource>,
    include: Include,
}

impl Printer {
    /// Converts an object or a list.
    fn answer(&self, mut answer: Value, now: Timestamp) -> Option<Value> {
        let said = answer["kind"].as_str()?;
        let objects = if said == self.kind.kind() {
            vec![answer.take()]
        } else if said == self.kind.list_kind() {
            match answer["items"].take() {
                Value::Array(items) => items,
                _ => return None,
            }
        } else {
            return None;
        };
        let metadata = match &answer {
            Value::Null => of_version(objects.first()?),
            list => {
                let mut metadata = list["metadata"].clone();
                // The metadata of a custom list has an empty `continue`; a table has not.
                if let Value::Object(members) = &mut metadata {
                    members.retain(|name, value| name != "continue" || *value != "");
                }
                metadata
            }
        };
        Some(self.table(objects, metadata, true, now))
    }

    /// Converts a watch event. Only the first one has the columns.
    fn event(&self, line: &[u8], first: bool, now: Timestamp) -> Option<Value> {
        let mut event: Value = serde_json::from_slice(line).ok()?;
        let object = event["object"].take();
        let metadata = of_version(&object);
        if event["type"] == "ERROR" {
            return None;
        }
        // A bookmark is a row, too.
        event["object"] = self.table(vec![object], metadata, first, now);
        Some(event)
    }

    fn table(
        &self,
        objects: Vec<Value>,
        metadata: Value,
        with_columns: bool,
        now: Timestamp,
    ) -> Value {
        let columns = self.kind.strategy().columns();
        let of_kind = self.kind.definition();
        let definitions = with_columns.then(|| match of_kind {
            Some(definition) => printed::definitions(definition),
            None => columns.iter().filter_map(Column::definition).collect::<Vec<_>>(),
        });
        // The default printer has null instead of an empty list.
        let plain = std::ptr::eq(columns, columns::DEFAULT);
        let none = (plain && objects.is_empty()).then_some(());
        let rows = objects.into_iter().map(|object| {
            let cells: Vec<Value> = match of_kind {
                Some(definition) => printed::cells(definition, &object, now),
                None => columns.iter().map(|column| column.cell(&object, now)).collect(),
            };
            let ended = self.ended(&object);
            let mut row = json!({ "cells": cells, "object": self.included(object) });
            if let Some(ended) = ended {
                row["conditions"] = json!([ended]);
            }
            row
        });
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": none.map_or_else(|| rows.collect(), |()| Value::Null),
        })
    }

    /// The condition of a completed object's row.
    fn ended(&self, object: &Value) -> Option<Value> {
        let (reason, message) = self.kind.strategy().row_condition(object)?;
        Some(json!({ "type": "Completed", "status": "True", "reason": reason, "message": message }))
    }

    fn included(&self, mut object: Value) -> Value {
        match self.include {
            Include::Nothing if !ends_initial_events(&object) => Value::Null,
            Include::Nothing | Include::Metadata => {
                // A version with losses is printed as it is stored.
                if let Value::Object(members) = &mut object
                    && !self.kind.is_lossy()
                {
                    object = self.kind.to_storage(std::mem::take(members)).into();
                }
                json!({
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": object["metadata"].take(),
                })
            }
            Include::Object => {
                if let Value::Object(members) = &mut object
                    && self.kind.is_lossy()
                {
                    object = self.kind.to_version(std::mem::take(members), u64::MAX).into();
                }
                // Items of lists have no apiVersion.
                object["apiVersion"] = self.kind.api_version().into();
                object["kind"] = self.kind.kind().into();
                object
            }
        }
    }
}
