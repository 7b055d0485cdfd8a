// One clock for all countdowns, set by the server's: the browser's may be wrong.
const TICK_MS = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 100;

class Clock {
  /** The server's time, ten times a second. */
  now = $state(Date.now());
  /** The same once a second, for what need not be exact. */
  second = $state(Math.floor(Date.now() / 1000) * 1000);

  #ahead = 0;

  constructor() {
    setInterval(() => this.#tick(), TICK_MS);
  }

  /** The server said what time it is. */
  set(iso: string): void {
    this.#ahead = Date.parse(iso) - Date.now();
    this.#tick();
  }

  /** The server's time at this very moment, whether or not anybody looks. */
  time(): number {
    return Date.now() + this.#ahead;
  }

  #tick(): void {
    if (document.hidden) return;
    this.now = this.time();
    const second = Math.floor(this.now / 1000) * 1000;
    if (second !== this.second) this.second = second;
  }
}

export const clock = new Clock();
