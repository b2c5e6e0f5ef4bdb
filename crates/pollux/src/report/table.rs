//! Aligned tables that fit the window.

use crate::render::clean;
use anstyle::Style;
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the left.
    Left,
    /// At the right: numbers.
    Right,
    /// At the left, and the first to be cut where the window is narrow.
    Flexible,
    /// At the left, and left out where there is no room for all of it: bars. It goes first, unless its name stands among
    /// the columns that are less needed.
    Spare,
}

/// A table while it is filled.
#[derive(Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    /// Columns that are left out, in this order, where the window is too narrow for all.
    less_needed: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

/// One field, with its colour.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A coloured field.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: printable(&text.into()), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// Space between columns.
const GAP: usize = 2;
/// A flexible column keeps at least this much.
const LEAST: usize = 12;

impl Table {
    /// An empty table.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), less_needed: &[], rows: Vec::new() }
    }

    /// Names the columns that are left out, in this order, where the window is too narrow for all.
    #[must_use]
    pub fn less_needed(mut self, columns: &'static [&'static str]) -> Self {
        self.less_needed = columns;
        self
    }

    /// Adds a row. It has as many fields as there are columns.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a field for each column");
        self.rows.push(cells);
    }

    /// Writes the table, at most `width` wide; nothing where it has no rows.
    pub fn write(&self, out: &mut dyn Write, width: Option<usize>) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let widths = self.widths(width);
        let head: Vec<Cell> = self
            .columns
            .iter()
            .map(|(name, _)| Cell::styled(*name, Style::new().dimmed()))
            .collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, width), (_, align)) in row.iter().zip(&widths).zip(&self.columns) {
                let Some(width) = width else { continue };
                line.push_str(&padded(cell, *width, *align));
                line.push_str(&" ".repeat(GAP));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// As wide as the widest field; then spare columns go, the flexible ones give way, widest first, and the less needed
    /// ones go too, until it fits. None is a column that is left out.
    fn widths(&self, limit: Option<usize>) -> Vec<Option<usize>> {
        let widest = |column: usize, name: &str| {
            let fields =
                self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width());
            fields.max().unwrap_or(0).max(name.width())
        };
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<Option<usize>> =
            columns.map(|(column, (name, _))| Some(widest(column, name))).collect();
        let Some(limit) = limit else { return widths };
        let spare = |(_, align): &(&str, Align)| *align == Align::Spare;
        let named = |wanted: &'static str| move |(name, _): &(&str, Align)| *name == wanted;
        let mut leave_out = |is_out: &dyn Fn(&(&str, Align)) -> bool| {
            if total(&self.narrowed(widths.clone(), limit)) > limit {
                for (width, column) in widths.iter_mut().zip(&self.columns) {
                    *width = width.filter(|_| !is_out(column));
                }
            }
        };
        let ranked = |(name, _): &&(&'static str, Align)| self.less_needed.contains(name);
        if !self.columns.iter().filter(|column| spare(column)).any(|column| ranked(&column)) {
            leave_out(&spare);
        }
        for name in self.less_needed {
            leave_out(&named(name));
        }
        self.narrowed(widths, limit)
    }

    fn narrowed(&self, mut widths: Vec<Option<usize>>, limit: usize) -> Vec<Option<usize>> {
        while total(&widths) > limit {
            let flexible = widths.iter_mut().zip(&self.columns);
            let flexible = flexible.filter(|(_, (_, align))| *align == Align::Flexible);
            let widest = flexible.filter_map(|(width, _)| width.as_mut()).max();
            match widest {
                Some(widest) if *widest > LEAST => *widest -= 1,
                _ => break,
            }
        }
        widths
    }
}

fn total(widths: &[Option<usize>]) -> usize {
    let widths = || widths.iter().flatten();
    widths().sum::<usize>() + GAP * widths().count().saturating_sub(1)
}

fn padded(cell: &Cell, width: usize, align: Align) -> String {
    let text = cut(&cell.text, width);
    // Nothing needs no colour, and a line must not end with what nobody sees.
    let style = if text.is_empty() { Style::new() } else { cell.style };
    let space = " ".repeat(width.saturating_sub(text.width()));
    match align {
        Align::Right => format!("{space}{style}{text}{style:#}"),
        Align::Left | Align::Flexible | Align::Spare => format!("{style}{text}{style:#}{space}"),
    }
}

/// A text cut to a width, with an ellipsis.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = text.chars().take_while(|c| {
        let wide = c.width().unwrap_or(0);
        let fits = wide <= room;
        room = room.saturating_sub(wide);
        fits
    });
    fits.chain(['…']).collect()
}

/// A text on one line, without what would do something to a terminal.
pub fn printable(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::{Align, Table, cut, printable};

    #[test]
    fn a_field_is_one_line_that_reads_as_it_is() {
        let title = "two\r\nlines\t\u{1b}[31mred\u{1b}[0m \u{202e}txt.exe";
        assert_eq!(printable(title), "two lines red \u{fffd}txt.exe");
    }

    #[test]
    fn wide_characters_are_counted_by_their_columns() {
        assert_eq!(cut("漢字かな", 5), "漢字…");
        assert_eq!(cut("漢字", 4), "漢字");
    }

    #[test]
    fn a_flexible_column_gives_way_in_a_narrow_window() {
        let mut table =
            Table::new(&[("id", Align::Left), ("title", Align::Flexible), ("n", Align::Right)]);
        table.row(vec!["a1".into(), "a title that is much too long for this".into(), "12".into()]);
        let mut out = Vec::new();
        table.write(&mut out, Some(24)).unwrap();
        let plain = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert_eq!(plain, "id  title              n\na1  a title that is…  12\n");
    }

    #[test]
    fn less_needed_columns_are_left_out_in_their_order_where_nothing_else_helps() {
        let columns = ["id", "first", "second", "third"].map(|name| (name, Align::Left));
        let mut table = Table::new(&columns).less_needed(&["second", "first"]);
        table.row(["a1", "1", "2", "3"].map(Into::into).to_vec());
        let written = |width| {
            let mut out = Vec::new();
            table.write(&mut out, Some(width)).unwrap();
            let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
            text.lines().next().unwrap().to_owned()
        };
        assert_eq!(written(24), "id  first  second  third");
        assert_eq!(written(23), "id  first  third");
        assert_eq!(written(10), "id  third");
    }
}
