//! "Did you mean": the nearest known name.

/// The help for an unknown name: the nearest one, or all of them where there are few.
pub(crate) fn help<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(near) = nearest(written, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    match known.as_slice() {
        [] => "there are none".to_owned(),
        [only] => format!("the only one is `{only}`"),
        few if few.len() <= SHOWN_MAX => format!("one of {}", join(few)),
        many => format!("one of {}, and {} more", join(&many[..SHOWN_MAX]), many.len() - SHOWN_MAX),
    }
}

/// The known name nearest to what was written, if one is near enough to be meant.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > NAME_BYTES_MAX {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace(['-', '.', ' '], "_");
    let target = plain(written);
    // A third of the letters may differ: two in `dialcet`, none in `go`.
    let far = target.chars().count() / 3;
    let distances = known.into_iter().filter(|name| name.len() <= NAME_BYTES_MAX).map(|name| {
        let name_plain = plain(name);
        let distance = strsim::damerau_levenshtein(&target, &name_plain);
        // `retry_policy` for `policy`: a whole word of it.
        let contained = target.len() >= 4 && name_plain.split('_').any(|word| word == target);
        (if contained { distance.min(1) } else { distance }, name)
    });
    distances.filter(|(distance, _)| *distance <= far).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Edit distance costs the product of the lengths: longer names are not typing errors.
const NAME_BYTES_MAX: usize = 100;

const SHOWN_MAX: usize = 24;

fn join(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_listed() {
        let kinds = ["rate_limit", "server_error", "timeout"];
        assert_eq!(help("rate_limits", kinds), "did you mean `rate_limit`?");
        assert_eq!(help("RateLimit", ["rate_limit"]), "did you mean `rate_limit`?");
        assert_eq!(help("timeuot", kinds), "did you mean `timeout`?");
        assert_eq!(help("rate-limit", kinds), "did you mean `rate_limit`?");
        assert_eq!(help("teapot", kinds), "one of `rate_limit`, `server_error`, `timeout`");
        assert_eq!(help("x", []), "there are none");
        assert_eq!(nearest("limit", kinds), Some("rate_limit"));
    }

    #[test]
    fn long_names_cost_nothing() {
        assert_eq!(nearest(&"x".repeat(1 << 20), ["rate_limit"]), None);
    }
}
