// Something that is fetched: its value, what went wrong, and the way to fetch it again. Of two fetches under way the later
// one counts.
export class Load<T> {
  value = $state.raw<T>();
  error = $state.raw<unknown>();
  busy = $state(false);
  #number = 0;

  constructor(readonly fetch: (signal: AbortSignal) => Promise<T>) {}

  #stop?: AbortController;

  again = async (): Promise<void> => {
    const number = ++this.#number;
    this.#stop?.abort();
    this.#stop = new AbortController();
    this.busy = true;
    try {
      const value = await this.fetch(this.#stop.signal);
      if (number !== this.#number) return;
      this.value = value;
      this.error = undefined;
    } catch (error) {
      if (number !== this.#number) return;
      this.error = error;
    }
    this.busy = false;
  };

  /** Fetches now and then every so often, until the returned function is called. */
  every(ms: number): () => void {
    void this.again();
    const timer = setInterval(() => !document.hidden && !this.busy && void this.again(), ms);
    return () => {
      clearInterval(timer);
      this.#number += 1;
      this.#stop?.abort();
    };
  }
}
