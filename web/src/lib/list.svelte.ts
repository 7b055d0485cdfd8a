// A list that is fetched part by part.
import { untrack } from "svelte";
import type { Asked } from "./api";
import { part } from "./page";

/** As many items as a page keeps; beyond it filters help more than scrolling. */
const ITEMS_MAX = 2000;

export class List<T> {
  items = $state.raw<T[]>([]);
  error = $state.raw<unknown>();
  busy = $state(false);
  /** The first part came. */
  ready = $state(false);
  next = $state<string | null>();
  #number = 0;
  #query: Asked["query"];

  /** `key` tells items apart: one that comes twice, because it moved while parts were fetched, is shown once. */
  constructor(
    readonly path: string,
    readonly key?: (item: T) => string,
  ) {}

  /** Fetches the first part. */
  async begin(query: Asked["query"]): Promise<void> {
    this.#query = query;
    await untrack(() => this.#fetch(undefined));
  }

  /** Fetches the part after the last. */
  async more(): Promise<void> {
    if (this.next && !this.busy) await this.#fetch(this.next);
  }

  get canGrow(): boolean {
    return Boolean(this.next) && this.items.length < ITEMS_MAX;
  }

  async #fetch(cursor: string | undefined): Promise<void> {
    const number = ++this.#number;
    this.busy = true;
    try {
      const got = await part<T>(this.path, { ...this.#query, cursor });
      if (number !== this.#number) return;
      const items = cursor ? [...this.items, ...got.items] : got.items;
      this.items = this.key ? [...new Map(items.map((item) => [this.key!(item), item])).values()] : items;
      this.next = got.next;
      this.error = undefined;
      this.ready = true;
    } catch (error) {
      if (number !== this.#number) return;
      this.error = error;
    }
    this.busy = false;
  }
}
