//! `steadfast setup` on files as people have them: nothing of theirs is lost, and all of it comes back.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::Value;

use super::{Folder, Transcript};

impl Folder {
    fn setup(&self, arguments: &[&str]) -> Transcript {
        let home = self.0.display().to_string();
        self.run_with(&[&["setup"], arguments].concat(), &[("HOME", &home)])
    }

    fn files(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

const SETTINGS: &str = "{\n  // mine\n  \"model\": \"opus\",\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"http://elsewhere\", // for now\n    \"B\": \"1\"\n  }\n}\n";

#[test]
fn lines_are_printed_for_the_address_of_the_configuration() {
    let folder = Folder::new();
    folder
        .write("steadfast.toml", "listen = \"0.0.0.0:5151\"\n[admin]\ntoken = { file = \"token\" }\n[projects.acme]\n");
    folder.write("token", "a-token-of-some-length");
    let said = folder.setup(&["claude", "--project", "acme"]);
    let path = folder.0.join(".claude/settings.json").display().to_string();
    let lines = "{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:5151/p/acme\"\n  }\n}\n";
    assert_eq!((said.code, said.stdout.as_str()), (0, format!("# {path}\n{lines}").as_str()), "{said:?}");
    assert!(said.stderr.ends_with("`steadfast setup claude --write` puts it there\n"), "{said:?}");
    assert!(!folder.0.join(".claude").exists(), "nothing is written unasked");
    let said = folder.setup(&["codex", "--listen", "127.0.0.1:5252"]);
    assert!(said.stdout.contains("base_url = \"http://127.0.0.1:5252/v1\"\n"), "{said:?}");
    let said = folder.setup(&["claude", "--project", "nosuch"]);
    assert!(said.stderr.starts_with("there is no project `nosuch` in the configuration yet"), "{said:?}");
    assert_eq!(folder.setup(&["claude", "--project", "a/b"]).code, 2);
}

#[test]
fn a_file_is_changed_where_it_must_and_comes_back_exactly() {
    let folder = Folder::new();
    folder.write(".claude/settings.json", SETTINGS);
    let file = folder.0.join(".claude/settings.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let said = folder.setup(&["claude", "--write"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("settings.json: written; as it was: "), "{said:?}");
    let written = folder.read(".claude/settings.json");
    assert_eq!(written, SETTINGS.replace("http://elsewhere", "http://127.0.0.1:4141"));
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o640, "readable by whom it was");

    let again = folder.setup(&["claude", "--write"]);
    assert!(again.code == 0 && again.stderr.contains("points at the gateway already"), "{again:?}");
    let moved = folder.setup(&["claude", "--write", "--listen", "127.0.0.1:5151"]);
    assert_eq!(moved.code, 0, "{moved:?}");
    assert!(folder.read(".claude/settings.json").contains("http://127.0.0.1:5151"));
    assert_eq!(folder.read(".claude/settings.json.steadfast-backup"), SETTINGS, "the first backup is the user's file");

    let undone = folder.setup(&["claude", "--undo", "--listen", "127.0.0.1:5151"]);
    assert!(undone.code == 0 && undone.stderr.contains("settings.json: restored\n"), "{undone:?}");
    assert_eq!((folder.read(".claude/settings.json").as_str(), mode()), (SETTINGS, 0o640));
    assert_eq!(folder.files(".claude"), ["settings.json"], "nothing is left behind");
    assert!(folder.setup(&["claude", "--undo"]).stderr.contains("nothing to undo"));
    assert_eq!(folder.read(".claude/settings.json"), SETTINGS);
}

#[test]
fn every_client_with_files_is_set_up_and_undone_from_nothing() {
    for client in ["claude", "codex", "gemini", "opencode", "openclaw", "python", "node"] {
        let folder = Folder::new();
        let written = folder.setup(&[client, "--write", "--json"]);
        assert_eq!((written.code, written.stderr.as_str()), (0, ""), "{client}: {written:?}");
        let report: Value = serde_json::from_str(&written.stdout).unwrap();
        assert_eq!((&report["client"], &report["base_url"]), (&client.into(), &"http://127.0.0.1:4141".into()));
        for file in report["files"].as_array().unwrap() {
            let path = folder.0.join(file["path"].as_str().unwrap());
            assert_eq!(file["state"], "written", "{client}: {file}");
            assert_eq!(fs::read_to_string(&path).unwrap(), file["lines"].as_str().unwrap(), "{client}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{client}: beside keys");
        }
        assert!(report.to_string().contains("http://127.0.0.1:4141"), "{client}");
        let undone: Value = serde_json::from_str(&folder.setup(&[client, "--undo", "--json"]).stdout).unwrap();
        for file in undone["files"].as_array().unwrap() {
            let path = folder.0.join(file["path"].as_str().unwrap());
            assert_eq!((file["state"].as_str(), path.exists()), (Some("removed"), false), "{client}: {file}");
            assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0, "{client}: nothing is left behind");
        }
    }
}

#[test]
fn toml_and_jsonc_keep_what_others_wrote() {
    let folder = Folder::new();
    let codex = "# mine\nmodel = \"gpt-5\" # the best\n\n[tools]\nweb_search = true\n";
    folder.write(".codex/config.toml", codex);
    assert_eq!(folder.setup(&["codex", "--write"]).code, 0);
    let written = folder.read(".codex/config.toml");
    assert!(written.starts_with("# mine\nmodel = \"gpt-5\" # the best\nmodel_provider = \"steadfast\"\n"), "{written}");
    assert!(written.contains("[tools]\nweb_search = true\n"), "{written}");
    assert_eq!(folder.setup(&["codex", "--undo"]).code, 0);
    assert_eq!(folder.read(".codex/config.toml"), codex);

    let opencode = "{\n  // the team's\n  \"provider\": {\n    \"openai\": { \"options\": { \"apiKey\": \"{env:K}\" } }, // ours\n  },\n}\n";
    folder.write(".config/opencode/opencode.jsonc", opencode);
    assert_eq!(folder.setup(&["opencode", "--write"]).code, 0);
    let written = folder.read(".config/opencode/opencode.jsonc");
    for kept in ["// the team's", "// ours", "\"apiKey\": \"{env:K}\"", "\"baseURL\": \"http://127.0.0.1:4141/v1beta\""]
    {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    assert_eq!(folder.setup(&["opencode", "--undo"]).code, 0);
    assert_eq!(folder.read(".config/opencode/opencode.jsonc"), opencode);
}

#[test]
fn files_that_are_there_keep_what_is_in_them_and_come_back_to_the_byte() {
    let settings = "{\n\t\"theme\": \"dark\", // at night\n\t\"security\": { \"auth\": { \"selectedType\": \"oauth-personal\" } }\n}";
    let openclaw = "// ours\n{\n  agents: { 'main': {}, },\n  models: { providers: { openai: { baseUrl: 'http://elsewhere', models: ['gpt-5'] } } },\n}\n";
    let variables =
        "# mine\r\nexport OPENAI_BASE_URL='http://elsewhere'\r\nOPENAI_API_KEY=\"sk # not a comment\"\r\n\r\nLAST=1";
    let kept_variables = ["# mine\r\n", "OPENAI_API_KEY=\"sk # not a comment\"\r\n", "LAST=1"].as_slice();
    let cases = [
        ("gemini", ".gemini/.env", "GEMINI_API_KEY=k\n", ["GEMINI_API_KEY=k\n"].as_slice()),
        ("gemini", ".gemini/settings.json", settings, &["\t\"theme\": \"dark\", // at night\n"]),
        (
            "openclaw",
            ".openclaw/openclaw.json",
            openclaw,
            &["// ours\n", "agents: { 'main': {}, },", "models: ['gpt-5']"],
        ),
        ("python", ".env", variables, kept_variables),
        ("node", ".env", variables, kept_variables),
    ];
    for (client, file, before, kept) in cases {
        let folder = Folder::new();
        folder.write(file, before);
        let parent = file.rsplit_once('/').map_or(".", |(parent, _)| parent);
        let written = folder.setup(&[client, "--write"]);
        assert_eq!(written.code, 0, "{client}: {written:?}");
        let after = folder.read(file);
        assert!(!after.contains("elsewhere") && !after.contains("oauth-personal"), "{client}: {after}");
        assert!(after.contains("http://127.0.0.1:4141") || after.contains("gemini-api-key"), "{client}: {after}");
        for kept in kept {
            assert!(after.contains(kept), "{client}: {kept:?} in {after:?}");
        }
        assert_eq!(folder.read(&format!("{file}.steadfast-backup")), before, "{client}");
        assert_eq!(folder.setup(&[client, "--write"]).code, 0, "{client}: again");
        assert_eq!(folder.read(file), after, "{client}: and nothing more to do");
        assert_eq!(folder.setup(&[client, "--undo"]).code, 0, "{client}");
        assert_eq!(folder.read(file), before, "{client}");
        let name = file.rsplit('/').next().unwrap();
        assert_eq!(folder.files(parent), [name], "{client}: nothing is left behind");
    }
}

#[test]
fn a_file_that_is_not_understood_stays_as_it_is_and_so_do_the_others() {
    let folder = Folder::new();
    for (text, why) in [
        ("{\"security\": \"high\"}", "`security` is there and is not an object or table"),
        ("{\"security\": {\"auth\": []}}", "`security.auth` is there and is not an object or table"),
        ("[]", "the whole of it is not an object"),
        ("{\"security\"", "line 1"),
    ] {
        folder.write(".gemini/settings.json", text);
        let refused = folder.setup(&["gemini", "--write"]);
        assert_eq!(refused.code, 1, "{text}: {refused:?}");
        assert!(refused.stderr.contains(".gemini/settings.json: ") && refused.stderr.contains(why), "{refused:?}");
        assert_eq!(folder.read(".gemini/settings.json"), text);
        assert_eq!(folder.files(".gemini"), ["settings.json"], "the .env is not written either");
        assert_eq!(folder.setup(&["gemini"]).code, 0, "the lines can still be had");
    }
}

#[test]
fn an_undo_keeps_what_others_changed_since() {
    let folder = Folder::new();
    folder.write(".claude/settings.json", "{}\n");
    assert_eq!(folder.setup(&["claude", "--write"]).code, 0);
    let theirs = folder.read(".claude/settings.json").replace("{\n  \"env\"", "{\n  \"theirs\": 1,\n  \"env\"");
    folder.write(".claude/settings.json", &theirs);
    let undone = folder.setup(&["claude", "--undo"]);
    assert!(undone.stderr.contains("restored; others had changed it, their version: "), "{undone:?}");
    assert_eq!(folder.read(".claude/settings.json"), "{}\n");
    assert_eq!(folder.read(".claude/settings.json.steadfast-undone"), theirs);

    // Once more, where there was no file at all.
    fs::remove_file(folder.0.join(".claude/settings.json")).unwrap();
    assert_eq!(folder.setup(&["claude", "--write"]).code, 0);
    folder.write(".claude/settings.json", &theirs.replace("theirs", "second"));
    assert_eq!(folder.setup(&["claude", "--undo"]).code, 0);
    assert_eq!(folder.files(".claude"), ["settings.json.steadfast-undone", "settings.json.steadfast-undone-1"]);
    assert_eq!(folder.read(".claude/settings.json.steadfast-undone"), theirs, "and the older one stays");
}

#[test]
fn a_link_stays_a_link_and_one_to_nothing_is_told() {
    let folder = Folder::new();
    folder.write("dotfiles/claude.json", SETTINGS);
    fs::create_dir(folder.0.join(".claude")).unwrap();
    let link = folder.0.join(".claude/settings.json");
    symlink(folder.0.join("dotfiles/claude.json"), &link).unwrap();
    assert_eq!(folder.setup(&["claude", "--write"]).code, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(folder.read("dotfiles/claude.json").contains("http://127.0.0.1:4141"));
    assert_eq!(folder.setup(&["claude", "--undo"]).code, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(folder.read("dotfiles/claude.json"), SETTINGS);
    fs::remove_file(folder.0.join("dotfiles/claude.json")).unwrap();
    let gone = folder.setup(&["claude", "--write"]);
    assert!(gone.code == 1 && gone.stderr.contains("is a link to a file that is gone"), "{gone:?}");
}

#[test]
fn clients_may_keep_their_files_elsewhere() {
    let folder = Folder::new();
    let place = |name: &str| folder.0.join(name).display().to_string();
    let (home, other) = (place("."), place("other"));
    for (client, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", "other/settings.json"),
        ("codex", "CODEX_HOME", "other/config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "other/opencode/opencode.json"),
        ("openclaw", "OPENCLAW_STATE_DIR", "other/openclaw.json"),
    ] {
        let said = folder.run_with(&["setup", client, "--write"], &[("HOME", &home), (variable, &other)]);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(folder.read(file).contains("http://127.0.0.1:4141"), "{client}");
    }
    let homeless = folder.run(&["setup", "claude"]);
    assert!(homeless.code == 1 && homeless.stderr.contains("HOME is not set"), "{homeless:?}");
}

#[test]
fn cursor_is_explained_and_not_written() {
    let folder = Folder::new();
    let said = folder.setup(&["cursor"]);
    assert!(said.code == 0 && said.stdout.contains("Override OpenAI Base URL"), "{said:?}");
    assert!(said.stdout.contains("http://127.0.0.1:4141/v1"), "{said:?}");
    let refused = folder.setup(&["cursor", "--write"]);
    assert!(refused.code == 1 && refused.stderr.contains("cursor has no file to write"), "{refused:?}");
}
