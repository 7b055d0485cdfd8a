// Short notes about what was just done.
interface Toast {
  id: number;
  text: string;
  tone: "good" | "bad";
}

class Toasts {
  list = $state<Toast[]>([]);
  #next = 1;

  say(text: string, tone: Toast["tone"] = "good"): void {
    const id = this.#next++;
    this.list = [...this.list.slice(-3), { id, text, tone }];
    setTimeout(() => (this.list = this.list.filter((toast) => toast.id !== id)), 6000);
  }
}

export const toasts = new Toasts();
