//! What a person types: words for the council, or a command.

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// Words for the council.
    Say(String),
    /// Yes to the open question.
    Yes,
    /// No to it.
    No,
    /// Bring back a member, or all.
    Retry(Option<String>),
    /// Save the conversation.
    Export(Option<String>),
    /// Who is here.
    Members,
    /// Which models they speak with, or another for one of them.
    Model(Option<(String, Option<String>)>),
    /// What can be typed.
    Help,
    /// Leave.
    Quit,
    /// No command of ours; with what may have been meant.
    Unknown(String),
}

/// The commands: name, what follows, what it does.
pub const COMMANDS: [(&str, &str, &str); 8] = [
    ("/yes", "", "agree to the fallback that is asked about"),
    ("/no", "", "go on without that member"),
    ("/retry", "<member>|all", "bring members back that are offline"),
    ("/export", "[file.md|file.json]", "save the conversation"),
    ("/members", "", "who is here, and with which model"),
    ("/model", "[member [model]]", "which models there are, or speak with another"),
    ("/help", "", "what can be typed"),
    ("/quit", "", "leave; the session is saved"),
];

/// Reads what was typed; `None` where it is nothing.
pub fn read(line: &str) -> Option<Typed> {
    let text = line.trim();
    if text.is_empty() {
        return None;
    }
    if !text.starts_with('/') {
        return Some(Typed::Say(text.to_owned()));
    }
    // Two slashes begin words that begin with one.
    if let Some(words) = text.strip_prefix("//") {
        return Some(Typed::Say(format!("/{words}")));
    }
    let mut words = text.split_whitespace();
    let command = words.next().unwrap_or_default();
    let mut next = || words.next().map(str::to_owned);
    Some(match command {
        "/yes" | "/y" => Typed::Yes,
        "/no" | "/n" => Typed::No,
        "/retry" => Typed::Retry(next().filter(|whom| whom != "all")),
        "/export" => Typed::Export(text.split_once(char::is_whitespace).map(|(_, rest)| rest.trim().to_owned())),
        "/members" => Typed::Members,
        "/model" => Typed::Model(next().map(|member| (member, next()))),
        "/help" | "/?" => Typed::Help,
        "/quit" | "/exit" | "/q" => Typed::Quit,
        other => Typed::Unknown(other.to_owned()),
    })
}

/// What more can be typed where the providers are fake.
const FAULT: (&str, &str, &str) = ("/fault", "[number]", "make a fake provider fail, or well again");

fn commands(fake: bool) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    COMMANDS.into_iter().chain(fake.then_some(FAULT))
}

/// What can be typed, for people.
pub fn help(fake: bool) -> String {
    let lines = commands(fake).map(|(name, rest, what)| format!("{:<28} {what}", format!("{name} {rest}")));
    let lines: Vec<String> = lines.collect();
    format!("{}\nAnything else is said to the council; // begins words with a slash.", lines.join("\n"))
}

/// What an unknown command is answered with.
pub fn unknown(command: &str) -> String {
    let near = COMMANDS
        .iter()
        .map(|(name, ..)| *name)
        .find(|name| name.starts_with(command) || command.starts_with(name) || name.get(..3) == command.get(..3));
    match near {
        Some(near) => format!("There is no {command}. Did you mean {near}?"),
        None => format!("There is no {command}. /help shows what there is."),
    }
}

/// Ways to complete what is typed: whole lines, in order. `faults` is how many can be played. File names are not
/// completed: nothing here reads folders.
pub fn complete(line: &str, members: &[(String, Vec<String>)], faults: usize) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let begins = |word: &str, typed: &str| word.to_lowercase().starts_with(&typed.to_lowercase());
    let names = || members.iter().map(|(name, _)| name.as_str());
    match *words.as_slice() {
        [command] if command.starts_with('/') => {
            let fitting = commands(faults > 0).filter(|(name, ..)| name.starts_with(command));
            fitting.map(|(name, rest, _)| if rest.is_empty() { name.to_owned() } else { format!("{name} ") }).collect()
        }
        ["/fault", typed] => {
            let numbers = (1..=faults).map(|number| number.to_string()).filter(|number| number.starts_with(typed));
            numbers.map(|number| format!("/fault {number}")).collect()
        }
        ["/retry", typed] => {
            let whom = names().chain(["all"]).filter(|name| begins(name, typed));
            whom.map(|name| format!("/retry {name}")).collect()
        }
        ["/model", typed] => names().filter(|name| begins(name, typed)).map(|name| format!("/model {name} ")).collect(),
        ["/model", member, typed] => {
            let models = members.iter().find(|(name, _)| name.eq_ignore_ascii_case(member)).map(|(_, models)| models);
            let fitting = models.into_iter().flatten().filter(|model| begins(model, typed));
            fitting.map(|model| format!("/model {member} {model}")).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_said_and_commands_are_obeyed() {
        assert_eq!(read("  "), None);
        assert_eq!(read(" hello there "), Some(Typed::Say("hello there".to_owned())));
        assert_eq!(read("//etc is a folder"), Some(Typed::Say("/etc is a folder".to_owned())));
        assert_eq!(read("/yes"), Some(Typed::Yes));
        assert_eq!(read("/retry"), Some(Typed::Retry(None)));
        assert_eq!(read("/retry all"), Some(Typed::Retry(None)));
        assert_eq!(read("/retry Claude"), Some(Typed::Retry(Some("Claude".to_owned()))));
        assert_eq!(read("/quit"), Some(Typed::Quit));
        assert_eq!(read("/export"), Some(Typed::Export(None)));
        assert_eq!(read("/export my notes.md"), Some(Typed::Export(Some("my notes.md".to_owned()))));
        let model = ("claude".to_owned(), Some("haiku".to_owned()));
        assert_eq!(read("/model claude haiku"), Some(Typed::Model(Some(model))));
        assert_eq!(read("/quiet"), Some(Typed::Unknown("/quiet".to_owned())));
        assert_eq!(unknown("/quiet"), "There is no /quiet. Did you mean /quit?");
        assert_eq!(unknown("/wobble"), "There is no /wobble. /help shows what there is.");
    }

    #[test]
    fn everything_that_can_be_typed_can_be_completed() {
        let models = vec!["sonnet".to_owned(), "haiku".to_owned()];
        let members = [("claude".to_owned(), models), ("Codex".to_owned(), Vec::new())];
        let check = |line, expected: &[&str]| assert_eq!(complete(line, &members, 0), expected);
        for (name, ..) in COMMANDS {
            let lengths = 2..=name.len();
            for typed in lengths.map(|length| &name[..length]) {
                let found = complete(typed, &members, 0);
                assert!(found.iter().any(|line| line.trim_end() == name), "{typed}: {found:?}");
                assert!(found.iter().all(|line| line.starts_with(typed)), "{typed}: {found:?}");
            }
        }
        check("/m", &["/members", "/model "]);
        check("/retry ", &["/retry claude", "/retry Codex", "/retry all"]);
        check("/retry c", &["/retry claude", "/retry Codex"]);
        check("/model cl", &["/model claude "]);
        check("/model claude h", &["/model claude haiku"]);
        check("hello /m", &[]);
        check("/f", &[]);
        assert_eq!(complete("/f", &members, 2), ["/fault "], "where there are faults to play");
        assert_eq!(complete("/fault ", &members, 2), ["/fault 1", "/fault 2"]);
        assert!(help(true).contains("/fault") && !help(false).contains("/fault"));
    }
}
