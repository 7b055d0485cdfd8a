//! Values of waits: durations, numbers, dates and times of day. Garbage reads as nothing.

use std::time::Duration;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use super::WAIT_MAX;
use crate::time::Timestamp;

/// A duration with units: `6m0s`, `547ms`, `1 hour, 5 minutes`, `19h14m47s`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    // "wait 20 seconds and try again": the "and" belongs to what follows.
    let text = text.trim();
    let mut rest = text.strip_suffix("and").unwrap_or(text).trim_end_matches([',', ' ']);
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, len) = if digits > 0 { (rest[..digits].parse().ok()?, digits) } else { number_word(rest)? };
        rest = rest[len..].trim_start();
        let letters = rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(rest.len());
        seconds += number * unit_seconds(&rest[..letters])?;
        rest = rest[letters..].trim_start_matches([',', ' ']);
        rest = rest.strip_prefix("and ").unwrap_or(rest).trim_start();
    }
    if text.is_empty() { None } else { bounded(seconds) }
}

/// A number written out at the start of `text`, and how many bytes it takes.
fn number_word(text: &str) -> Option<(f64, usize)> {
    const WORDS: [(&str, f64); 9] = [
        ("one", 1.0),
        ("two", 2.0),
        ("three", 3.0),
        ("five", 5.0),
        ("ten", 10.0),
        ("thirty", 30.0),
        ("sixty", 60.0),
        ("an ", 1.0),
        ("a ", 1.0),
    ];
    let is_it = |word: &str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    WORDS.iter().find(|(word, _)| is_it(word)).map(|(word, number)| (*number, word.len()))
}

/// Hours, minutes and seconds, perhaps after a number of days: `23:10:05`, `1.21:00:00`.
pub(super) fn span(text: &str) -> Option<Duration> {
    let (days, hours) = text.split_once('.').unwrap_or(("0", text));
    let mut seconds = 0.0;
    for part in hours.split(':') {
        seconds = seconds * 60.0 + number(part)?;
    }
    bounded(number(days)? * 86_400.0 + seconds)
}

/// A date with its month by name; without a zone it counts as UTC: `Oct 7th, 2026 3:52 PM`.
pub(super) fn dated(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.replace([',', '.'], " ");
    let words: Vec<&str> = text.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("at")).collect();
    let [month, day, year, time @ ..] = words.as_slice() else { return None };
    let day = day.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let date = Date::new(year.parse().ok()?, month_number(month)?, day.parse().ok()?).ok()?;
    let moment = date.to_datetime(time_of_day(&time.concat())?).to_zoned(TimeZone::UTC).ok()?;
    until(moment.timestamp().as_millisecond() as f64, now)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    Some(match unit.as_str() {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" | "秒" | "초" | "sekunde" | "sekunden" | "seconde" | "secondes"
        | "segundo" | "segundos" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" | "分" | "分钟" | "분" | "minuten" | "minuto" | "minutos" => {
            60.0
        }
        "h" | "hr" | "hrs" | "hour" | "hours" | "小时" | "个小时" | "時間" | "시간" | "stunde" | "stunden"
        | "heure" | "heures" | "hora" | "horas" => 3600.0,
        "d" | "day" | "days" | "天" | "日" | "일" | "tag" | "tagen" | "jour" | "jours" => 86_400.0,
        "week" | "weeks" => 7.0 * 86_400.0,
        "month" | "months" => 30.0 * 86_400.0,
        _ => return None,
    })
}

/// A plain number of seconds, perhaps with a fraction.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    bounded(number(text)?)
}

/// A plain number of milliseconds.
pub(super) fn millis(text: &str) -> Option<Duration> {
    bounded(number(text)? / 1000.0)
}

/// Seconds or milliseconds since 1970.
pub(super) fn epoch(text: &str, now: Timestamp) -> Option<Duration> {
    let number = number(text)?;
    let millis = if number >= 1e11 { number } else { number * 1000.0 };
    until(millis, now)
}

/// A moment as RFC 3339 writes it, or with a blank in place of the `T`. Without a zone it counts
/// as UTC.
pub(super) fn moment(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text
        .trim()
        .to_ascii_uppercase()
        .replace(" AT ", " ")
        .replace(" UTC", "Z")
        .replace(" GMT", "Z")
        .replace(" +", "+");
    let moment: jiff::Timestamp = text.parse().or_else(|_| format!("{text}Z").parse()).ok()?;
    until(moment.as_millisecond() as f64, now)
}

/// A date as HTTP headers write it.
pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    let moment = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

/// Until an HTTP date.
pub(super) fn until_http_date(text: &str, now: Timestamp) -> Option<Duration> {
    until(http_date(text)?.as_millis() as f64, now)
}

/// The next time a clock in a zone shows this: `9am (America/Chicago)`, `midnight UTC`.
pub(super) fn clock(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.replace(['(', ')', ','], " ");
    let mut words: Vec<&str> = text.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("at")).collect();
    let zone = words.pop()?;
    let zone = if zone.contains('/') { TimeZone::get(zone).ok()? } else { TimeZone::UTC };
    let day = match words[..] {
        [month, day, _, ..] if !month.starts_with(|letter: char| letter.is_ascii_digit()) => {
            let day = Some((month_number(month)?, day.parse::<i8>().ok()?));
            words.drain(..2);
            day
        }
        _ => None,
    };
    let time = time_of_day(&words.concat())?;
    let now_there = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?.to_zoned(zone.clone());
    let date = match day {
        Some((month, day)) => {
            let date = Date::new(now_there.year(), month, day).ok()?;
            if date < now_there.date() { Date::new(now_there.year() + 1, month, day).ok()? } else { date }
        }
        None if time <= now_there.time() => now_there.date().tomorrow().ok()?,
        None => now_there.date(),
    };
    let moment = date.to_datetime(time).to_zoned(zone).ok()?;
    until(moment.timestamp().as_millisecond() as f64, now)
}

fn time_of_day(text: &str) -> Option<Time> {
    let text = text.to_ascii_lowercase();
    if text == "midnight" {
        return Some(Time::midnight());
    }
    let (text, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(text), _) => (text, Some(0)),
        (_, Some(text)) => (text, Some(12)),
        _ => (text.as_str(), None),
    };
    let (hour, minute) = text.split_once(':').unwrap_or((text, "0"));
    let hour: i8 = hour.parse().ok()?;
    let hour = half.map_or(hour, |half| hour % 12 + half);
    Time::new(hour, minute.parse().ok()?, 0, 0).ok()
}

fn month_number(name: &str) -> Option<i8> {
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = name.to_ascii_lowercase();
    months.iter().position(|month| name.starts_with(month)).map(|index| index as i8 + 1)
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { text.parse().ok() } else { None }
}

fn until(millis: f64, now: Timestamp) -> Option<Duration> {
    let wait_millis = millis - now.as_millis() as f64;
    bounded(wait_millis.max(0.0) / 1000.0)
}

/// A sane wait in whole milliseconds.
fn bounded(seconds: f64) -> Option<Duration> {
    let sane = seconds.is_finite() && (0.0..=WAIT_MAX.as_secs_f64()).contains(&seconds);
    sane.then(|| Duration::from_millis((seconds * 1000.0).round() as u64))
}
