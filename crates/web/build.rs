//! Builds the dashboard of `web/` with Node and writes the table of its files.
//!
//! Nothing is written into the source tree: the sources are copied to cargo's own folder and built there. Packages
//! are installed anew only when the lock changed, files are built anew only when a source changed. Where Node is
//! missing or packages cannot be fetched, the build goes on without the dashboard, and its place says what to do.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What of `web/` a build depends on.
const SOURCES: [&str; 7] =
    ["package.json", "package-lock.json", "vite.config.ts", "svelte.config.js", "index.html", "public", "src"];

/// Vite 8 asks for it.
const NODE_MIN: (u32, u32) = (20, 19);

fn main() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names a folder"));
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", web.join(source).display());
    }
    println!("cargo:rerun-if-env-changed=STEADFAST_WEB");
    let wish = std::env::var("STEADFAST_WEB").ok();
    let table = match build(&web, &out.join("web"), wish.as_deref()) {
        Ok(dist) => table(&dist).unwrap_or_else(|error| panic!("cannot read {}: {error}", dist.display())),
        Err(missing) => {
            println!("cargo:warning=the dashboard is left out: {missing}");
            // A file that never is there: looked for again with the next build.
            println!("cargo:rerun-if-changed={}", out.join("node-was-missing").display());
            format!(
                "/// Why there is none.\npub const MISSING: Option<&str> = Some({missing:?});\nconst FILES: &[File] = &[];\n"
            )
        }
    };
    fs::write(out.join("files.rs"), table).expect("cargo's folder can be written to");
}

/// Builds the files and says where they lie, or what is missing to build them.
fn build(web: &Path, work: &Path, wish: Option<&str>) -> Result<PathBuf, String> {
    can_be_built(wish, "node")?;
    fs::create_dir_all(work).map_err(|error| error.to_string())?;
    for source in SOURCES {
        copy(&web.join(source), &work.join(source)).unwrap_or_else(|error| panic!("cannot copy web/{source}: {error}"));
    }
    install(work)?;
    let output = npm(work, &["run", "--silent", "build"]).map_err(|error| format!("npm cannot be run: {error}"))?;
    // A mistake in the sources is ours, and nothing to go on without.
    assert!(output.0, "the dashboard does not build:\n{}", output.1);
    Ok(work.join("dist"))
}

/// Whether the files are wanted and Node is there to build them; else what is missing.
pub(crate) fn can_be_built(wish: Option<&str>, node: &str) -> Result<(), String> {
    if wish == Some("off") {
        return Err("STEADFAST_WEB=off said so".to_owned());
    }
    let wanted = format!("install Node {}.{} or later with npm, and build again", NODE_MIN.0, NODE_MIN.1);
    let output = Command::new(node).arg("--version").output().map_err(|_| format!("Node was not found; {wanted}"))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if version(&said) < NODE_MIN { Err(format!("Node is {said}; {wanted}")) } else { Ok(()) }
}

/// `v20.19.0` as two numbers; nothing of the kind is older than everything.
pub(crate) fn version(said: &str) -> (u32, u32) {
    let mut parts = said.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// Installs what the lock names, unless it is there.
fn install(work: &Path) -> Result<(), String> {
    let lock = fs::read_to_string(work.join("package-lock.json")).map_err(|error| error.to_string())?;
    let installed = work.join("installed.json");
    if fs::read_to_string(&installed).is_ok_and(|known| known == lock) {
        return Ok(());
    }
    // Not `npm ci`: it refuses a lock without the packages for other machines, which not every registry has.
    let arguments = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    let output =
        npm(work, &arguments).map_err(|_| "npm was not found; install it beside Node, and build again".to_owned())?;
    if !output.0 {
        let last = output.1.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").to_owned();
        return Err(format!("npm could not install its packages; build again with a network ({})", last.trim()));
    }
    fs::write(installed, lock).map_err(|error| error.to_string())
}

/// Whether it went well, and what it said.
fn npm(folder: &Path, arguments: &[&str]) -> io::Result<(bool, String)> {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let output = Command::new(program).args(arguments).current_dir(folder).output()?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Copies a file or a folder, and takes away what is no longer in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.exists() {
        return Ok(());
    }
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The files as a table in Rust.
fn table(dist: &Path) -> io::Result<String> {
    let mut paths = Vec::new();
    walk(dist, &mut paths)?;
    paths.sort();
    let mut table =
        String::from("/// Why there is none.\npub const MISSING: Option<&str> = None;\nconst FILES: &[File] = &[\n");
    for path in paths {
        let name = path.strip_prefix(dist).expect("it was found below").to_string_lossy().replace('\\', "/");
        if name.ends_with(".br") || name.ends_with(".gz") {
            continue;
        }
        let embedded = |suffix: &str| format!("include_bytes!({:?})", format!("{}{suffix}", path.display()));
        let twin = |suffix: &str| match Path::new(&format!("{}{suffix}", path.display())).exists() {
            true => format!("Some({})", embedded(suffix)),
            false => "None".to_owned(),
        };
        // Writing to memory cannot fail.
        let _ = writeln!(
            table,
            "    File {{ name: {name:?}, plain: {}, brotli: {}, gzip: {} }},",
            embedded(""),
            twin(".br"),
            twin(".gz")
        );
    }
    table.push_str("];\n");
    Ok(table)
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { walk(&path, paths)? } else { paths.push(path) }
    }
    Ok(())
}
