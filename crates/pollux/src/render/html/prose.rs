//! Markdown of a model as HTML that does nothing but show it.

use crate::render::clean;
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html,
};
use std::borrow::Cow;

/// Markdown as HTML: elements in it are shown as text, pictures as their description, and a link leads to the web, to
/// a mail address, or nowhere.
pub(super) fn prose(markdown: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // For each link that is open, whether it leads somewhere.
    let mut leads = Vec::new();
    let events = Parser::new_ext(markdown, options).map(move |event| safe(event, &mut leads));
    let mut out = String::with_capacity(markdown.len() * 3 / 2);
    html::push_html(&mut out, events);
    out
}

fn safe<'e>(event: Event<'e>, leads: &mut Vec<bool>) -> Event<'e> {
    let nothing = || Event::Text(CowStr::Borrowed(""));
    match event {
        Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => Event::Text(seen(text)),
        Event::Code(code) => Event::Code(seen(code)),
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(seen(language))))
        }
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        // The page has its own first and second level.
        Event::Start(Tag::Heading { level, .. }) => {
            let (id, classes, attrs) = (None, Vec::new(), Vec::new());
            Event::Start(Tag::Heading { level: lower(level), id, classes, attrs })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
        Event::Start(Tag::Link { link_type, dest_url, .. }) => {
            let address = address(link_type, &dest_url);
            leads.push(address.is_some());
            address.map_or_else(nothing, |address| {
                let address = clean(&address);
                let address = escape(&address);
                let open = format!("<a href=\"{address}\" rel=\"noopener noreferrer nofollow\">");
                Event::InlineHtml(open.into())
            })
        }
        Event::End(TagEnd::Link) => match leads.pop() {
            Some(true) => Event::InlineHtml(CowStr::Borrowed("</a>")),
            _ => nothing(),
        },
        Event::Start(Tag::Image { .. }) => Event::InlineHtml("<span class=\"image\">".into()),
        Event::End(TagEnd::Image) => Event::InlineHtml("</span>".into()),
        // A terminal shows each line as a line, and so was the text meant.
        Event::SoftBreak => Event::HardBreak,
        other => other,
    }
}

/// Entities are characters by now, and some of those turn the direction of text.
fn seen(text: CowStr<'_>) -> CowStr<'_> {
    match clean(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(cleaned) => cleaned.into(),
    }
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// Where a link may lead: an allowlist, since a browser knows more schemes than we do.
fn address(link_type: LinkType, url: &str) -> Option<Cow<'_, str>> {
    if link_type == LinkType::Email {
        return Some(Cow::Owned(format!("mailto:{url}")));
    }
    let starts = |scheme: &str| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| starts(scheme))
        .then_some(Cow::Borrowed(url))
}

/// A text in which nothing is HTML, in an attribute as well.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::prose;

    #[test]
    fn markdown_is_rendered() {
        let html = prose("# Title\n\n- [x] done\n- ~~no~~\n\n| a | b |\n|---|---|\n| 1 | 2 |");
        for part in ["<h3>Title</h3>", "<input disabled", "<del>no</del>", "<td>2</td>"] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn elements_are_shown_and_not_made() {
        let html =
            prose("<script>alert(1)</script>\n\nA <img src=x onerror=alert(1)> <b>b</b> </div>");
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("</div"));
        assert!(html.contains("&lt;script&gt;"));
    }

    #[test]
    fn links_lead_to_the_web_or_nowhere() {
        let link = |url: &str| prose(&format!("[x]({url})"));
        for url in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "//evil",
            "a.html",
            "&#106;avascript:alert(1)",
        ] {
            assert!(!link(url).contains("href"), "{url}: {}", link(url));
        }
        assert!(link("HTTPS://example.org/?a=1&b='").contains(
            "href=\"HTTPS://example.org/?a=1&amp;b=&#39;\" rel=\"noopener noreferrer nofollow\">x</a>"
        ));
        assert!(prose("<me@example.org>").contains("href=\"mailto:me@example.org\""));
    }

    #[test]
    fn what_turns_text_is_seen_also_where_it_was_written_as_an_entity() {
        let html = prose(
            "&#x202e;a [&#8238;b](https://c.org/&#x202e;d) `e`\n\n```x&#x202e;y\nf\n```\n\n<&#x2066;>",
        );
        assert!(!html.contains(['\u{202e}', '\u{2066}']), "{html}");
        assert!(html.contains("\u{fffd}a"), "{html}");
    }

    #[test]
    fn pictures_of_a_text_are_not_loaded() {
        let html = prose("![a [b](https://c.org) d](https://evil.example/x.png \"t\")");
        assert!(!html.contains("<img") && !html.contains("evil"), "{html}");
    }
}
