//! Times and numbers as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How long ago something was.
///
/// ```
/// use pollux::report::human::ago;
///
/// assert_eq!(ago(0, 45_000), "45s ago");
/// assert_eq!(ago(0, 3 * 3_600_000), "3h ago");
/// ```
pub fn ago(then_ms: i64, now_ms: i64) -> String {
    let seconds = (now_ms - then_ms) / 1000;
    match seconds {
        ..0 => "just now".to_owned(),
        0..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        86_400..2_592_000 => format!("{}d ago", seconds / 86_400),
        _ => day(then_ms),
    }
}

/// The day of a time, where we are.
pub fn day(ms: i64) -> String {
    let time = Timestamp::from_millisecond(ms).unwrap_or_default();
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string()
}

/// Day and minute of a time, where we are.
pub fn minute(ms: i64) -> String {
    let time = Timestamp::from_millisecond(ms).unwrap_or_default();
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// The time now, in milliseconds since 1970.
pub fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

/// A number in three digits and a letter.
///
/// ```
/// use pollux::report::human::short;
///
/// assert_eq!(short(950), "950");
/// assert_eq!(short(12_345), "12.3k");
/// assert_eq!(short(1_200_000), "1.2M");
/// ```
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn short(number: u64) -> String {
    let scaled = |unit: f64, letter: char| {
        let value = number as f64 / unit;
        if value < 99.95 { format!("{value:.1}{letter}") } else { format!("{value:.0}{letter}") }
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..999_500 => scaled(1e3, 'k'),
        999_500..999_500_000 => scaled(1e6, 'M'),
        _ => scaled(1e9, 'G'),
    }
}

/// A number with its thousands apart.
///
/// ```
/// use pollux::report::human::grouped;
///
/// assert_eq!([12, 123, 1234, 1_234_567].map(grouped), ["12", "123", "1,234", "1,234,567"]);
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 message`, `2 messages`.
pub fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}
