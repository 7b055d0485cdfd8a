// Whether the sources of the dashboard are sound, by `svelte-check`: `check(web, modules)` throws what it found.
//
// They are copied beside the packages, so that nothing is installed into the source tree.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export function check(web, modules) {
  const folder = join(modules, "../check");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(web, "src"), join(folder, "src"), { recursive: true });
  const config = JSON.parse(readFileSync(join(web, "tsconfig.json"), "utf8"));
  // Of Vite only the import of styles is used.
  config.compilerOptions.types = ["svelte"];
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(join(folder, "src/styles.d.ts"), 'declare module "*.css";\n');
  try {
    execFileSync(process.execPath, [join(modules, "svelte-check/bin/svelte-check"), "--tsconfig", "./tsconfig.json", "--fail-on-warnings", "--output", "human"], { cwd: folder, encoding: "utf8" });
  } catch (error) {
    throw new Error(error.stdout || error.message);
  }
}
