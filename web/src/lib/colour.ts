// The colours of the design tokens as a canvas needs them.
const probe = document.createElement("span");
probe.hidden = true;

/** What a token such as `--accent` is at the moment. */
export function colour(token: string): string {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}
