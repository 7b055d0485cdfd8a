// Every page: its name in the address, its title, and what shows it.
import type { Component, ComponentProps } from "svelte";
import type Icon from "./parts/Icon.svelte";
import Endpoints from "./pages/Endpoints.svelte";
import Live from "./pages/Live.svelte";
import Request from "./pages/Request.svelte";

export interface Page {
  name: string;
  title: string;
  component: Component;
  icon: ComponentProps<typeof Icon>["name"];
  /** Whether the navigation lists it. */
  nav: boolean;
  /** Where Escape leads. */
  above?: string;
}

export const pages: Page[] = [
  { name: "live", title: "Live", component: Live, icon: "live", nav: true },
  { name: "endpoints", title: "Endpoints", component: Endpoints, icon: "endpoints", nav: true },
  { name: "requests", title: "Request", component: Request, icon: "live", nav: false, above: "live" },
];
