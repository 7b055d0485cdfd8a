// The keyboard: letters act unless somebody is typing.

export function isTyping(event: KeyboardEvent): boolean {
  const at = event.target as HTMLElement | null;
  return event.ctrlKey || event.metaKey || event.altKey || !!at?.closest("input, textarea, select, [contenteditable]");
}

/** j and k walk through everything marked `data-item` on the page, Enter follows its link. */
export function walk(event: KeyboardEvent): boolean {
  const step = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
  if (!step) return false;
  const items = [...document.querySelectorAll<HTMLElement>("main [data-item]")].filter((item) => item.offsetParent !== null);
  if (!items.length) return false;
  const at = items.findIndex((item) => item === document.activeElement || item.contains(document.activeElement));
  const next = items[at < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + step, 0), items.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return true;
}
