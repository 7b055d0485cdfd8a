// Ranges of time that people choose.
export const RANGES = [
  ["1d", "24 hours", 86_400],
  ["3d", "3 days", 3 * 86_400],
  ["7d", "7 days", 7 * 86_400],
  ["30d", "30 days", 30 * 86_400],
  ["90d", "90 days", 90 * 86_400],
] as const;

/** Where a range begins, as the API writes moments. */
export function since(name: string, now: number): string {
  const seconds = RANGES.find(([known]) => known === name)?.[2] ?? RANGES[0][2];
  return new Date(now - seconds * 1000).toISOString();
}

/** An hour or a day that begins then, as people write it. Days of the figures are those of UTC. */
export function spanOf(start: string, seconds: number): string {
  const date = new Date(start);
  if (seconds >= 86_400) return date.toLocaleDateString(undefined, { weekday: "short", month: "short", day: "numeric", timeZone: "UTC" });
  const hour = (date: Date) => date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
  return `${date.toLocaleDateString(undefined, { month: "short", day: "numeric" })}, ${hour(date)}–${hour(new Date(date.getTime() + seconds * 1000))}`;
}
