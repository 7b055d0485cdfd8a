//! Commands with names in braces, and what is put in their place.
//!
//! Only the names that are known are replaced, so JSON and shell may stand in a command as they are. Nothing is split
//! or quoted: an argument stays one argument whatever is put into it.

/// What is put in place of a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values<'a> {
    /// Name and value.
    pub(crate) pairs: Vec<(&'static str, &'a str)>,
    /// What stands for `{arguments}`, which becomes as many arguments as there are.
    pub(crate) arguments: &'a [String],
}

/// Fills a command in. Where the model is left to the agent, `{model}` goes, and the flag before it.
pub(crate) fn fill(command: &[String], values: &Values<'_>) -> Vec<String> {
    let mut filled: Vec<String> = Vec::with_capacity(command.len() + values.arguments.len());
    let mut placed = false;
    for part in command {
        match part.as_str() {
            "{arguments}" => {
                placed = true;
                filled.extend(values.arguments.iter().cloned());
            }
            "{model}" if values.get("model").is_none_or(str::is_empty) => {
                if filled.len() > 1 && filled.last().is_some_and(|flag| flag.starts_with('-')) {
                    filled.pop();
                }
            }
            _ => filled.push(fill_text(part, values)),
        }
    }
    if !placed {
        filled.extend(values.arguments.iter().cloned());
    }
    filled
}

/// Fills one text in.
pub(crate) fn fill_text(text: &str, values: &Values<'_>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        let name = from[1..].find('}').map(|close| &from[1..=close]);
        match name.and_then(|name| Some((name, values.get(name)?))) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &from[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &from[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

impl Values<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(command: &[&str], model: &str, arguments: &[&str]) -> Vec<String> {
        let texts = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let arguments = texts(arguments);
        fill(
            &texts(command),
            &Values { pairs: vec![("task", "do {model} $(x)"), ("model", model)], arguments: &arguments },
        )
    }

    #[test]
    fn names_are_replaced_once_and_everything_else_stays() {
        assert_eq!(filled(&["a", "{task}", "--m={model}"], "m1", &[]), ["a", "do {model} $(x)", "--m=m1"]);
        assert_eq!(
            filled(&["jq", "{a: .b}", "{", "{}", "{nosuch}"], "m", &[]),
            ["jq", "{a: .b}", "{", "{}", "{nosuch}"]
        );
        assert_eq!(filled(&["x", r#"{"url":"{model}"}"#], "m", &[]), ["x", r#"{"url":"m"}"#]);
    }

    #[test]
    fn a_model_that_is_left_to_the_agent_takes_its_flag_along() {
        assert_eq!(filled(&["claude", "--model", "{model}", "-p", "{task}"], "", &[])[1], "-p");
        assert_eq!(filled(&["agent", "{model}"], "", &[]), ["agent"]);
    }

    #[test]
    fn arguments_come_where_they_belong_or_last() {
        assert_eq!(filled(&["a", "{arguments}", "z"], "m", &["-x", "y"]), ["a", "-x", "y", "z"]);
        assert_eq!(filled(&["a", "z"], "m", &["-x"]), ["a", "z", "-x"]);
    }
}
