//! The prompt and the other words of `pollux run`.

use super::refused;
use crate::report;
use crate::report::keys::{Wanted, line};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Gemini CLI takes no more on its stdin, and cuts what is longer without an error.
const LONGEST: usize = 8 << 20;

/// The prompt: the argument, stdin, or both.
pub(in crate::cli) fn read(argument: Option<&str>) -> anyhow::Result<String> {
    let wants_stdin = matches!(argument, None | Some("-"));
    let words = argument.filter(|argument| *argument != "-").unwrap_or_default();
    if report::stdin_is_a_person() {
        if wants_stdin {
            return Err(none());
        }
        return Ok(words.to_owned());
    }
    // Somebody who gives a prompt may leave stdin open behind it, with nothing to come.
    let mut piped = String::new();
    if wants_stdin || report::stdin_has_something() {
        let mut bytes = Vec::new();
        io::stdin().lock().take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > LONGEST {
            let hint = "write it to a file, and name that file in the prompt";
            return Err(refused("long_prompt", "the prompt is larger than 8 MB".to_owned(), hint));
        }
        piped = String::from_utf8_lossy(&bytes).into_owned();
    }
    Ok(match (piped.trim().is_empty(), words.is_empty()) {
        (true, _) => words.to_owned(),
        (false, true) => piped,
        // As the CLI itself joins them.
        (false, false) => format!("{piped}\n\n{words}"),
    })
}

/// The next prompt of a session that goes on: the next line that says something; none at the end of stdin, and when nobody
/// waits for it any more.
pub(super) async fn next(wanted: &Wanted) -> anyhow::Result<Option<String>> {
    let wanted = wanted.clone();
    let read = move || loop {
        match line("› ", &wanted)? {
            Some(line) if line.trim().is_empty() => {}
            Some(line) => return Ok(Some(line.trim_end().to_owned())),
            None => return io::Result::Ok(None),
        }
    };
    Ok(tokio::task::spawn_blocking(read).await??)
}

/// Nobody has said anything.
pub(in crate::cli) fn none() -> anyhow::Error {
    let hint = "pass it as an argument or on stdin";
    refused("no_prompt", "missing prompt".to_owned(), hint)
}

/// A file that is there.
pub(in crate::cli) fn attached(path: &Path) -> anyhow::Result<PathBuf> {
    path.canonicalize().map_err(|error| {
        let message = format!("cannot attach {}: {error}", path.display());
        refused("no_file", message, "check the path")
    })
}

/// A time such as `90s`, `10m`, `1h`; a number alone is seconds.
pub(in crate::cli) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).unwrap_or_default();
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("invalid duration: use e.g. 90s, 10m or 1h".to_owned()),
    };
    let Ok(number) = digits.parse::<f64>() else {
        return Err("invalid duration: use e.g. 90s, 10m or 1h".to_owned());
    };
    Duration::try_from_secs_f64(number * factor).map_err(|error| error.to_string())
}

/// A time with its unit: what a number alone would mean, everybody takes for something else.
pub(in crate::cli) fn span(text: &str) -> Result<Duration, String> {
    if text.parse::<f64>().is_ok() {
        return Err(format!("missing unit: use {text}s, {text}m or {text}h"));
    }
    duration(text)
}

/// A time in whole seconds: one that has begun counts.
pub(in crate::cli) fn seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0))
}

/// A positive number.
pub(super) fn at_least_one(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "must be at least 1".to_owned())
}

/// `NAME=VALUE`.
pub(in crate::cli) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, seconds, span, variable};
    use std::time::Duration;

    #[test]
    fn a_time_is_a_number_with_a_unit() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(duration("soon").is_err() && duration("5 parsecs").is_err());
    }

    #[test]
    fn a_part_of_a_second_is_not_no_time() {
        let whole = ["0", "900ms", "2s", "2.1s"].map(|text| seconds(duration(text).unwrap()));
        assert_eq!(whole, [0, 1, 2, 3]);
    }

    #[test]
    fn a_budget_says_its_unit() {
        assert_eq!(span("1m"), Ok(Duration::from_mins(1)));
        assert_eq!(span("1"), Err("missing unit: use 1s, 1m or 1h".to_owned()));
    }

    #[test]
    fn a_variable_has_a_name() {
        assert_eq!(variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert!(variable("=x").is_err() && variable("x").is_err());
    }
}
