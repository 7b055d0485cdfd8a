// Styles go into one file that the page links: its content security policy allows no other.
import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

export default { preprocess: vitePreprocess({ script: true, style: false }), compilerOptions: { runes: true } };
