//! Sessions whose model, tools or file want to do something to the reader.

use crate::render::{options, page};
use pollux::render::{Format, Options};
use serde_json::json;
use std::time::{Duration, Instant};

/// Things that would do something in a browser, in a terminal, or to the page around them.
const HOSTILE: &[&str] = &[
    "<script>document.title='owned'</script>",
    "</style><script>document.title='owned'</script>",
    "--><img src=x onerror=\"document.title='owned'\">",
    "\"><svg onload=document.title='owned'>",
    "' onmouseover='document.title=1' x='",
    "<svg><a xlink:href=\"javascript:document.title='owned'\">x</a></svg>",
    "[x](javascript:document.title='owned') [y](JAVASCRIPT&colon;alert(1)) <javascript:alert(1)>",
    "![x](https://evil.example/pixel.png) [a]: javascript:alert(1)\n\n[a]",
    "</details></section></main><form action=https://evil.example><input name=q></form>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'><base href=https://evil.example>",
    "```html\n</code></pre><script>document.title='owned'</script>",
    "| a |\n|---|\n| <iframe src=//evil.example></iframe> |",
    "&#x202e;txt [&#8238;exe](https://evil.example/&#x202e;gpj) `a` ```&#x2066;x",
    "\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}[2J\u{9b}1mred\u{202e}txt\u{8}\u{8}",
];

/// A session that has something hostile wherever a session has text.
fn session(evil: &str) -> String {
    let call = json!({
        "id": evil, "name": evil, "displayName": evil, "status": "success",
        "args": { "command": evil, evil: evil },
        "result": [{ "functionResponse": { "id": evil, "name": evil, "response": { "output": evil } } }],
    });
    let edit = json!({
        "id": "e", "name": "replace", "status": "error",
        "args": { "file_path": evil, "old_string": evil, "new_string": format!("{evil}{evil}") },
        "result": [{ "functionResponse": { "id": "e", "response": { "error": evil } } }],
    });
    let todos = json!({
        "id": "t", "name": "write_todos", "status": "cancelled",
        "args": { "todos": [{ "description": evil, "status": evil }] },
    });
    let images = json!([
        { "text": evil },
        { "inlineData": { "mimeType": "image/svg+xml", "data": "PHN2Zz4=" } },
        { "inlineData": { "mimeType": format!("image/png\" {evil}"), "data": "AAAA" } },
        { "inlineData": { "mimeType": "image/png", "data": format!("AAAA\" {evil}") } },
        { "inlineData": { "mimeType": "image/png", "data": "iVBORw0KGgo=" } },
        { "fileData": { "mimeType": "image/png", "fileUri": format!("https://evil.example/{evil}") } },
    ]);
    let rows = [
        json!({ "sessionId": evil, "projectHash": evil, "summary": evil, "startTime": evil }),
        json!({ "id": "u", "type": "user", "content": images }),
        json!({ "id": evil, "type": "gemini", "content": evil, "model": evil,
            "thoughts": [{ "subject": evil, "description": evil }], "toolCalls": [call, edit, todos] }),
        json!({ "id": "w", "type": "warning", "content": evil }),
        json!({ "id": "x", "type": "error", "content": evil }),
        json!({ "id": "c", "type": "user", "content": format!("<session_context>{evil}</session_context>") }),
    ];
    rows.map(|row| row.to_string()).join("\n")
}

fn everything() -> Options<'static> {
    Options { thinking: true, meta: true, ..options() }
}

/// All that a page may be made of.
const ELEMENTS: &[&str] = &[
    "!doctype",
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "footer",
    "section",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "p",
    "dl",
    "dt",
    "dd",
    "div",
    "span",
    "time",
    "em",
    "strong",
    "b",
    "del",
    "ins",
    "code",
    "pre",
    "blockquote",
    "ul",
    "ol",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "details",
    "summary",
    "br",
    "hr",
    "a",
    "img",
    "input",
];

/// All that an element may say about itself.
const ATTRIBUTES: &[&str] = &[
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "dir",
    "datetime",
    "title",
    "aria-label",
    "aria-hidden",
    "open",
    "href",
    "rel",
    "src",
    "alt",
    "type",
    "disabled",
    "checked",
    "style",
    "start",
];

#[test]
fn a_page_is_made_of_nothing_but_its_own_elements() {
    for evil in HOSTILE {
        let html = page(&session(evil), Format::Html, &everything());
        let (before, rest) = html.split_once("<style>").unwrap();
        let (_, after) = rest.split_once("</style>").unwrap();
        for (name, attributes) in [before, after].iter().flat_map(|part| tags(part)) {
            assert!(ELEMENTS.contains(&&*name), "<{name}> in {html}");
            for (key, value) in attributes {
                assert!(ATTRIBUTES.contains(&&*key) || name == "!doctype", "{key} of <{name}>");
                assert!(key != "src" || value == "data:image/png;base64,iVBORw0KGgo=", "{value}");
                let leads_out = value.starts_with("https://")
                    || value.starts_with("http://")
                    || value.starts_with("mailto:");
                assert!(key != "href" || leads_out, "{value}");
                assert!(key != "style" || value.starts_with("text-align: "), "{value}");
            }
        }
        assert_eq!(html.matches("<meta http-equiv").count(), 1);
        assert_eq!(html.matches("<section").count(), html.matches("</section>").count());
        assert_eq!(html.matches("<details").count(), html.matches("</details>").count());
    }
}

/// The tags of a text with their attributes. Where text is escaped, every `<` opens a tag.
fn tags(html: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found = Vec::new();
    for piece in html.split('<').skip(1) {
        // A `>` inside of a value would be escaped.
        let tag = piece.split('>').next().unwrap();
        let mut parts = tag.split('"');
        let mut head = parts.next().unwrap().split_whitespace();
        let name = head.next().unwrap().trim_start_matches('/').to_lowercase();
        let mut attributes = Vec::new();
        let mut keys: Vec<String> = head.map(str::to_owned).collect();
        let mut parts = parts.peekable();
        while let Some(value) = parts.next() {
            let key = keys.pop().unwrap();
            attributes.push((key.trim_end_matches('=').to_owned(), value.to_owned()));
            attributes.extend(keys.drain(..).map(|key| (key, String::new())));
            keys = parts.next().unwrap().split_whitespace().map(str::to_owned).collect();
        }
        attributes
            .extend(keys.into_iter().filter(|key| key != "/").map(|key| (key, String::new())));
        found.push((name, attributes));
    }
    found
}

/// What reaches a terminal is text and our own colours.
#[test]
fn a_terminal_is_told_nothing_but_colours() {
    for evil in HOSTILE {
        for format in [Format::Text, Format::Markdown] {
            let shown = page(&session(evil), format, &everything());
            for part in shown.split('\u{1b}').skip(1) {
                let code = part.split('m').next().unwrap();
                let is_colour = code.starts_with('[')
                    && code.chars().skip(1).all(|c| c.is_ascii_digit() || c == ';');
                assert!(format == Format::Text && is_colour, "{part:?}");
            }
            let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\u{1b}');
            assert!(!shown.contains(|c| obeyed(c) || c == '\u{202e}'), "{shown:?}");
        }
    }
}

/// Text that was made to take for ever takes no time.
#[test]
fn huge_and_nested_text_is_rendered_in_time() {
    let start = Instant::now();
    let row = "| a ".repeat(2_000);
    let rule = "|---".repeat(2_000);
    for evil in [
        "[".repeat(100_000),
        ">".repeat(10_000),
        "- ".repeat(5_000),
        "*a_ ".repeat(50_000),
        "`".repeat(99_999),
        "<!--".repeat(50_000),
        format!("{row}|\n{rule}|\n{}", "| b |\n".repeat(2_000)),
        "x".repeat(5_000_000),
    ] {
        let file = json!({ "id": "g", "type": "gemini", "content": evil }).to_string();
        let file = format!("{{\"sessionId\":\"s\",\"projectHash\":\"p\"}}\n{file}");
        for format in [Format::Text, Format::Markdown, Format::Html] {
            assert!(page(&file, format, &everything()).len() > 100);
        }
    }
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}
