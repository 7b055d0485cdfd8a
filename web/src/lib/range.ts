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
