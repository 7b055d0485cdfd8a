// Light, dark, or as the system says.
const PLACE = "steadfast.theme";
export type Theme = "system" | "light" | "dark";

class Look {
  theme = $state<Theme>((localStorage.getItem(PLACE) as Theme | null) ?? "system");
  /** Whether what is shown is dark; charts draw themselves anew when it changes. */
  dark = $state(false);

  #system = matchMedia("(prefers-color-scheme: dark)");

  constructor() {
    this.#system.addEventListener("change", () => this.#apply());
    this.#apply();
  }

  /** System, light, dark, and around again. */
  next(): void {
    const order: Theme[] = ["system", "light", "dark"];
    this.theme = order[(order.indexOf(this.theme) + 1) % order.length]!;
    localStorage.setItem(PLACE, this.theme);
    this.#apply();
  }

  #apply(): void {
    const root = document.documentElement;
    if (this.theme === "system") delete root.dataset.theme;
    else root.dataset.theme = this.theme;
    this.dark = this.theme === "dark" || (this.theme === "system" && this.#system.matches);
  }
}

export const look = new Look();
