//! Every form of "retry after", as providers write it.

use std::time::Duration;

use super::*;
use crate::classify::Classifier;

const NOW: i64 = 1_749_909_966_000; // 2025-06-14T14:06:06Z

fn wait_ms(status: u16, headers: &[(&str, &str)], body: &str) -> Option<u64> {
    let evidence =
        Evidence { now: Some(Timestamp::from_millis(NOW)), ..Evidence::http(status, headers, body.as_bytes()) };
    Classifier::builtin().classify(&evidence).retry_after.map(|wait| wait.as_millis() as u64)
}

#[test]
fn headers() {
    type Headers = &'static [(&'static str, &'static str)];
    let table: &[(Headers, Option<u64>)] = &[
        (&[("Retry-After", "7")], Some(7000)),
        (&[("retry-after", "0.5")], Some(500)),
        (&[("retry-after", "2s")], Some(2000)),
        (&[("retry-after", "Sat, 14 Jun 2025 14:07:06 GMT")], Some(60_000)),
        (&[("retry-after", "Sat, 14 Jun 2025 14:00:00 GMT")], Some(0)),
        (&[("retry-after-ms", "1250"), ("retry-after", "2")], Some(1250)),
        (&[("x-ms-retry-after-ms", "40")], Some(40)),
        (&[("retry-after", "-3")], None),
        (&[("retry-after", "1000000000")], None),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "")], None),
        (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")], Some(360_000)),
        (&[("x-ratelimit-remaining-tokens", "-5"), ("x-ratelimit-reset-tokens", "547ms")], Some(547)),
        (&[("x-ratelimit-remaining-tokens", "12"), ("x-ratelimit-reset-tokens", "33s")], None),
        (&[("x-ratelimit-reset-tokens", "33s")], None),
        (
            &[("x-codex-primary-used-percent", "100"), ("x-codex-primary-reset-after-seconds", "471285")],
            Some(471_285_000),
        ),
        (&[("x-codex-primary-used-percent", "99"), ("x-codex-primary-reset-after-seconds", "471285")], None),
        (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1749909996")], Some(30_000)),
        (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1749909996000")], Some(30_000)),
        (&[("x-ratelimit-reset", "30")], Some(30_000)),
        (&[("ratelimit-remaining", "0"), ("ratelimit-reset", "12")], Some(12_000)),
        (
            &[
                ("anthropic-ratelimit-input-tokens-remaining", "0"),
                ("anthropic-ratelimit-input-tokens-reset", "2025-06-14T14:06:36Z"),
                ("anthropic-ratelimit-requests-remaining", "9"),
                ("anthropic-ratelimit-requests-reset", "2025-06-14T15:00:00Z"),
            ],
            Some(30_000),
        ),
        (
            &[("anthropic-ratelimit-unified-status", "rejected"), ("anthropic-ratelimit-unified-reset", "1749910026")],
            Some(60_000),
        ),
    ];
    for (headers, expected) in table {
        assert_eq!(wait_ms(429, headers, ""), *expected, "{headers:?}");
    }
}

#[test]
fn bodies_and_prose() {
    let table = [
        ("Rate limit reached. Please try again in 6.172s.", Some(6172)),
        ("Please try again in 9m38.016s. Need more?", Some(578_016)),
        ("Please retry after 86400 seconds.", Some(86_400_000)),
        ("Quota resets in 2h.", Some(7_200_000)),
        ("Your quota will reset after 19h14m47s.", Some(69_287_000)),
        ("rate limited, please wait 20 seconds before trying again", Some(20_000)),
        ("Try again in 1 hour and 5 minutes", Some(3_900_000)),
        ("try again in ~3 minutes", Some(180_000)),
        (r#"{"retryDelay": "45.123s"}"#, Some(45_123)),
        (r#"{"error":{"retry_after": 12.5}}"#, Some(12_500)),
        (r#"{"retry_after_ms": 900}"#, Some(900)),
        (r#"{"resets_in_seconds":3032}"#, Some(3_032_000)),
        (r#"{"estimated_time": 20.0}"#, Some(20_000)),
        (r#"{"code":"model_cooldown","reset_seconds":25803,"reset_time":"7h10m2s"}"#, Some(25_803_000)),
        ("All accounts rate-limited. Wait ~30s before retrying.", Some(30_000)),
        (r#"{"resets_at": 1749910026}"#, Some(60_000)),
        (r#"{"reset_at": "2025-06-14T14:07:06Z"}"#, Some(60_000)),
        ("'headers': {'retry-after': '30', 'x': 'y'}", Some(30_000)),
        ("请求过于频繁，请在 30 秒后重试", Some(30_000)),
        ("レート制限: 20秒後に再試行してください", Some(20_000)),
        ("요청이 너무 많습니다. 15초 후에 다시 시도하세요", Some(15_000)),
        ("Zu viele Anfragen. Bitte in 10 Sekunden erneut versuchen", Some(10_000)),
        ("Trop de requêtes, réessayez dans 2 minutes", Some(120_000)),
        ("Demasiadas solicitudes. Inténtelo en 25 segundos", Some(25_000)),
        ("Rate limit exceeded. Try again in an hour.", Some(3_600_000)),
        ("Rate limit exceeded. Try again in a few minutes.", None),
        ("FloodWaitError: A wait of 33 seconds is required", Some(33_000)),
        ("rate limit hit. Cooldown: 15s", Some(15_000)),
        ("Out of call volume quota. Quota will be replenished in 1.21:00:00.", Some(162_000_000)),
        ("Claude AI usage limit reached|1749924000", Some(14_034_000)),
        ("Your limit will reset at 9am (America/Chicago).", Some(86_034_000)),
        ("limit resets 4pm (UTC)", Some(6_834_000)),
        ("usage limit reached, resets Jun 16, 3:30pm (UTC)", Some(177_834_000)),
        ("Limit will reset at midnight UTC.", Some(35_634_000)),
        ("Try again in 23:10:05", Some(83_405_000)),
        ("Please wait one minute and try again.", Some(60_000)),
        ("Please wait 20 seconds, and try again.", Some(20_000)),
        ("Next request allowed in 12 seconds", Some(12_000)),
        ("You are blocked for 5 minutes", Some(300_000)),
        ("Quota will be replenished in 2 weeks", Some(1_209_600_000)),
        ("Retry delay: 3s", Some(3000)),
        ("12s before the next prompt", Some(12_000)),
        (r#"{"retry_in": 5}"#, Some(5000)),
        (r#"{"reset_in_seconds": 9}"#, Some(9000)),
        ("[(b'retry-after', b'20')]", Some(20_000)),
        ("请求过于频繁，3分钟后重试", Some(180_000)),
        ("额度已用完，2 小时后恢复", Some(7_200_000)),
        ("You will regain access on 2025-06-14 at 15:06 UTC.", Some(3_594_000)),
        ("Your limit will reset at 2025-06-14 14:07:06", Some(60_000)),
        ("It will reset at 2025-06-14 22:07:06 +0800 CST.", Some(60_000)),
        ("try again at Jun 14th, 2025 2:07 PM.", Some(54_000)),
        ("rate limited · Retrying in 4 seconds… (attempt 4/10)", None),
        ("rate limited, will retry in 5s", None),
        ("Rate limit reached. Retry in 4s (attempt 2/5)", None),
        ("Please try again in 6 models", None),
        ("try again in 99999999 days", None),
        ("try again later", None),
        ("resets 2am", None),
    ];
    for (body, expected) in table {
        assert_eq!(wait_ms(429, &[], body), expected, "{body}");
    }
}

#[test]
fn a_long_wait_makes_a_quota_and_a_short_one_a_rate_limit() {
    let kind = |body: &str| Classifier::builtin().classify(&Evidence::text(body)).kind;
    assert_eq!(kind("429 Too Many Requests, retry after 7200 seconds"), FailureKind::QuotaExhausted);
    assert_eq!(kind("429 Too Many Requests, retry after 72 seconds"), FailureKind::RateLimit);
    assert_eq!(kind("Rate limit reached on tokens per day (TPD). Try again in 9m38s."), FailureKind::RateLimit);
    assert_eq!(kind("Rate limit reached on tokens per day (TPD)."), FailureKind::QuotaExhausted);
}

#[test]
fn a_wait_that_stands_behind_many_others_is_heard() {
    let retries = "retrying in 2s, attempt 3\n".repeat(9);
    assert_eq!(wait_ms(429, &[], &format!("{retries}rate limit reached, try again in 2 minutes")), Some(120_000));
}

#[test]
fn waits_have_a_bound() {
    assert_eq!(parse::seconds("99999999"), None);
    assert_eq!(parse::seconds("5356800"), Some(WAIT_MAX));
    assert_eq!(parse::duration("5x"), None);
    assert_eq!(parse::duration(""), None);
    assert_eq!(parse::clock("(UTC)", Timestamp::from_millis(NOW)), None);
    assert_eq!(parse::clock("25:00 UTC", Timestamp::from_millis(NOW)), None);
    assert_eq!(parse::moment("2025-13-01T00:00:00Z", Timestamp::from_millis(NOW)), None);
    assert_eq!(parse::epoch("1749909966", Timestamp::from_millis(NOW)), Some(Duration::ZERO));
}
