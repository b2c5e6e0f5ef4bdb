//! A row of a screen as pieces that look alike. Pure.

use serde::{Deserialize, Serialize};

/// A piece of a row that looks alike.
///
/// ```
/// use pollux_agent::terminal::{Emulator, Size};
///
/// let mut terminal = Emulator::new(Size { columns: 20, rows: 1 });
/// terminal.feed(b"one \x1b[1;31mtwo\x1b[0m");
/// let row = &terminal.runs()[0];
/// assert_eq!((row[0].text.as_str(), row[1].text.as_str()), ("one ", "two"));
/// assert_eq!((row[1].fg.as_deref(), row[1].bold), (Some("1"), true));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(optional_fields))]
#[expect(clippy::struct_excessive_bools, reason = "a terminal has as many ways to look")]
pub struct Run {
    /// The text.
    pub text: String,
    /// The colour of the text: `0` to `15` for those that the terminal chooses, else `#rrggbb`; none for its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fg: Option<String>,
    /// The colour behind the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bg: Option<String>,
    /// Bold.
    #[serde(default, skip_serializing_if = "is_not")]
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>"))]
    pub bold: bool,
    /// Dim.
    #[serde(default, skip_serializing_if = "is_not")]
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>"))]
    pub dim: bool,
    /// Italic.
    #[serde(default, skip_serializing_if = "is_not")]
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>"))]
    pub italic: bool,
    /// Underlined.
    #[serde(default, skip_serializing_if = "is_not")]
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>"))]
    pub underline: bool,
    /// With the colours exchanged.
    #[serde(default, skip_serializing_if = "is_not")]
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>"))]
    pub inverse: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_not(flag: &bool) -> bool {
    !flag
}

/// The pieces of a row, without the blanks at its end that look like nothing.
pub(super) fn runs(cells: &[avt::Cell]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    // The second half of a wide character has no width.
    for cell in cells.iter().filter(|cell| cell.width() > 0) {
        let mut run = look(cell.pen());
        match runs.last_mut() {
            Some(last) if is_alike(last, &run) => last.text.push(cell.char()),
            _ => {
                run.text.push(cell.char());
                runs.push(run);
            }
        }
    }
    if let Some(last) = runs.last_mut()
        && is_alike(last, &Run::default())
    {
        last.text.truncate(last.text.trim_end().len());
        if last.text.is_empty() {
            runs.pop();
        }
    }
    runs
}

fn is_alike(one: &Run, other: &Run) -> bool {
    let flags = |run: &Run| (run.bold, run.dim, run.italic, run.underline, run.inverse);
    (&one.fg, &one.bg, flags(one)) == (&other.fg, &other.bg, flags(other))
}

fn look(pen: &avt::Pen) -> Run {
    Run {
        text: String::new(),
        fg: pen.foreground().map(colour),
        bg: pen.background().map(colour),
        bold: pen.is_bold(),
        dim: pen.is_faint(),
        italic: pen.is_italic(),
        underline: pen.is_underline(),
        inverse: pen.is_inverse(),
    }
}

/// The palette of 256 colours: sixteen of the terminal's own, a cube, and greys.
fn colour(colour: avt::Color) -> String {
    let hex = |r: u8, g: u8, b: u8| format!("#{r:02x}{g:02x}{b:02x}");
    match colour {
        avt::Color::RGB(rgb) => hex(rgb.r, rgb.g, rgb.b),
        avt::Color::Indexed(index @ 0..=15) => index.to_string(),
        avt::Color::Indexed(index @ 16..=231) => {
            let step = |part: u8| if part == 0 { 0 } else { 55 + part * 40 };
            let at = index - 16;
            hex(step(at / 36), step(at / 6 % 6), step(at % 6))
        }
        avt::Color::Indexed(index) => {
            let grey = 8 + (index - 232) * 10;
            hex(grey, grey, grey)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::colour;

    #[test]
    fn colours_of_the_palette_are_those_of_other_terminals() {
        let indexed = |index| colour(avt::Color::Indexed(index));
        assert_eq!(indexed(9), "9");
        assert_eq!((indexed(16), indexed(231)), ("#000000".to_owned(), "#ffffff".to_owned()));
        assert_eq!((indexed(196), indexed(232)), ("#ff0000".to_owned(), "#080808".to_owned()));
        assert_eq!(indexed(255), "#eeeeee");
    }
}
