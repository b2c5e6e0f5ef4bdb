//! The references in `docs/`, made from the code: every kind of event, and every route of the API. Pure: schemas in, markdown out.

use crate::daemon::routes::document;
use pollux_agent::model::Event;
use serde_json::{Map, Value};
use std::fmt::Write;

const HEAD: &str = "<!-- Generated from the code by `cargo xtask docs`. Do not edit. -->\n";

/// `docs/events.md`.
pub fn events() -> String {
    let schema = schemars::schema_for!(Event<'static>).to_value();
    let mut out = format!(
        "# Events\n\n{HEAD}\nAll event types, as printed by `-o events` and `pollux logs --json` and returned by the API and the library. Each event is \
        one JSON object with a `type`. Clients must ignore types that they do not know. Fields with a `?` are optional.\n\n## Every event\n\n"
    );
    fields(&mut out, &schema);
    for kind in list(&schema["oneOf"]) {
        let name = kind["properties"]["type"]["const"].as_str().unwrap_or_default();
        // Writing to a string does not fail.
        let _written = write!(out, "\n## `{name}`\n\n{}\n\n", said(kind));
        let whole = kind["$ref"].as_str().map(|name| &schema["$defs"][word(name)]);
        fields(&mut out, whole.unwrap_or(kind));
        variants(&mut out, kind);
    }
    out.push_str("\n# Types\n");
    types(&mut out, &schema["$defs"]);
    tidy(&out)
}

/// `docs/api-reference.md`.
pub fn api() -> String {
    let document = serde_json::to_value(document()).unwrap_or_default();
    let mut out = format!(
        "# Routes of the API\n\n{HEAD}\nAll routes of the HTTP API, generated from the same source as `GET /api/v1/openapi.json`. See [api.md](api.md) for how to \
        use them. Every error is a `Problem`.\n"
    );
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let _written = write!(out, "\n## `{} {path}`\n\n", method.to_uppercase());
            for text in ["summary", "description"] {
                if let Some(text) = operation[text].as_str() {
                    let _written = write!(out, "{}\n\n", text.trim());
                }
            }
            route(&mut out, operation);
        }
    }
    out.push_str("\n# Types\n");
    types(&mut out, &document["components"]["schemas"]);
    tidy(&out)
}

/// One empty line is enough, and none at the end of a line.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && out.ends_with("\n\n")) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn route(out: &mut String, operation: &Value) {
    for parameter in list(&operation["parameters"]) {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = parameter["in"].as_str().unwrap_or_default();
        let of = shape(&parameter["schema"]);
        let _written = writeln!(out, "- {place} `{name}` ({of}) {}", said(parameter));
    }
    let json = |value: &Value| value["content"]["application/json"]["schema"].clone();
    let body = json(&operation["requestBody"]);
    if !body.is_null() {
        let _written = writeln!(out, "- body: {}", shape(&body));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let body = json(response);
        let of = if body.is_null() { String::new() } else { format!(" {}", shape(&body)) };
        let _written = writeln!(out, "- {status}:{of} {}", said(response));
    }
}

fn types(out: &mut String, defs: &Value) {
    for (name, schema) in defs.as_object().into_iter().flatten() {
        let _written = write!(out, "\n## {name}\n\n{}\n\n", said(schema));
        fields(out, schema);
        variants(out, schema);
        for word in list(&schema["enum"]) {
            let _written = writeln!(out, "- `{}`", word.as_str().unwrap_or_default());
        }
    }
}

/// The forms that a type has.
fn variants(out: &mut String, schema: &Value) {
    for form in list(&schema["oneOf"]).chain(list(&schema["anyOf"])) {
        if let Some(word) = form["const"].as_str() {
            let _written = writeln!(out, "- `{word}`: {}", said(form));
            continue;
        }
        let is = |(name, value): (&String, &Value)| {
            Some(format!("`{name}`: `{}`", value["const"].as_str()?))
        };
        let tag = form["properties"].as_object().into_iter().flatten().find_map(is);
        let tag = tag.unwrap_or_else(|| shape(form));
        let _written = writeln!(out, "- {tag}: {}", said(form));
        if tags(form) {
            let mut inner = String::new();
            fields(&mut inner, form);
            let _written = write!(out, "\n{inner}\n");
        }
    }
}

/// True where there is more to a form than its name.
fn tags(form: &Value) -> bool {
    let named = form["properties"].as_object().into_iter().flatten();
    named.into_iter().any(|(_, value)| value["const"].is_null())
}

fn fields(out: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let shown: Map<String, Value> =
        properties.clone().into_iter().filter(|(_, of)| of["const"].is_null()).collect();
    if shown.is_empty() {
        return;
    }
    let must: Vec<&str> = list(&schema["required"]).filter_map(Value::as_str).collect();
    out.push_str("| field | type | |\n|---|---|---|\n");
    for (name, of) in &shown {
        let mark = if must.contains(&name.as_str()) { "" } else { "?" };
        let _written = writeln!(out, "| `{name}`{mark} | {} | {} |", shape(of), said(of));
    }
    out.push('\n');
}

/// A type in a few letters.
fn shape(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = word(name);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let forms: Vec<String> = list(&schema["anyOf"])
        .chain(list(&schema["oneOf"]))
        .chain(list(&schema["allOf"]))
        .filter(|form| form["type"] != "null")
        .map(shape)
        .collect();
    if !forms.is_empty() {
        return forms.join(" or ");
    }
    if schema["items"].is_object() {
        return format!("list of {}", shape(&schema["items"]));
    }
    match &schema["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

fn said(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace('\n', " ").replace('|', "\\|").trim().to_owned()
}

fn word(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
