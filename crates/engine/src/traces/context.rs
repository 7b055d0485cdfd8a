//! W3C trace context: the trace a caller is in, and the one a provider is told.

use http::HeaderMap;

use super::TRACEPARENT;

/// The trace a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    /// None, or none that can be read.
    None,
    /// This one, at this span.
    Sampled { trace: u128, span: u64 },
    /// One that its caller does not record: then neither do we.
    Unsampled,
}

impl Parent {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(TRACEPARENT).iter();
        // Two of them contradict each other: neither counts.
        let (Some(value), None) = (values.next(), values.next()) else { return Self::None };
        value.to_str().ok().and_then(read).unwrap_or(Self::None)
    }
}

/// What a provider is told.
pub(super) fn traceparent(trace: u128, span: u64) -> String {
    format!("00-{trace:032x}-{span:016x}-01")
}

/// `00-TRACE-SPAN-FLAGS`; later versions may add parts.
fn read(text: &str) -> Option<Parent> {
    let mut parts = text.trim().split('-');
    let mut part = |length: usize| {
        let part = parts.next()?;
        let lower = part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        (lower && part.len() == length).then_some(part)
    };
    let version = part(2)?;
    let trace = u128::from_str_radix(part(32)?, 16).ok().filter(|trace| *trace != 0)?;
    let span = u64::from_str_radix(part(16)?, 16).ok().filter(|span| *span != 0)?;
    let flags = u8::from_str_radix(part(2)?, 16).ok()?;
    if version == "ff" || version == "00" && parts.next().is_some() {
        return None;
    }
    Some(if flags & 1 == 1 { Parent::Sampled { trace, span } } else { Parent::Unsampled })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_trace_is_continued_and_nonsense_is_not() {
        let sampled = Parent::Sampled { trace: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, span: 0x00f0_67aa_0ba9_02b7 };
        let told = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(read(told), Some(sampled));
        assert_eq!(traceparent(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7), told);
        assert_eq!(read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"), Some(Parent::Unsampled));
        assert_eq!(read("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-new"), Some(sampled));
        for nonsense in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-01",
        ] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
        let mut twice = HeaderMap::new();
        twice.append(TRACEPARENT, http::HeaderValue::from_static("a"));
        twice.append(TRACEPARENT, http::HeaderValue::from_static("b"));
        assert_eq!(Parent::of(&twice), Parent::None);
    }
}
