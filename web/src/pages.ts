// Every page: its name in the address, its title, and what shows it.
import type { Component, ComponentProps } from "svelte";
import type Icon from "./parts/Icon.svelte";
import Alerts from "./pages/Alerts.svelte";
import Endpoints from "./pages/Endpoints.svelte";
import Failures from "./pages/Failures.svelte";
import Live from "./pages/Live.svelte";
import Policies from "./pages/Policies.svelte";
import Requests from "./pages/Requests.svelte";
import Sessions from "./pages/Sessions.svelte";
import Settings from "./pages/Settings.svelte";
import Tasks from "./pages/Tasks.svelte";

export interface Page {
  name: string;
  title: string;
  component: Component;
  icon: ComponentProps<typeof Icon>["name"];
  /** Whether the navigation lists it. */
  nav: boolean;
  /** The page of the navigation it belongs to. */
  above?: string;
}

export const pages: Page[] = [
  { name: "live", title: "Live", component: Live, icon: "live", nav: true },
  { name: "sessions", title: "Sessions", component: Sessions, icon: "sessions", nav: true },
  { name: "failures", title: "Failures", component: Failures, icon: "failures", nav: true },
  { name: "policies", title: "Policies", component: Policies, icon: "policies", nav: true },
  { name: "endpoints", title: "Endpoints", component: Endpoints, icon: "endpoints", nav: true },
  { name: "tasks", title: "Tasks", component: Tasks, icon: "tasks", nav: true },
  { name: "alerts", title: "Alerts", component: Alerts, icon: "alerts", nav: true },
  { name: "settings", title: "Settings", component: Settings, icon: "settings", nav: true },
  { name: "requests", title: "Requests", component: Requests, icon: "live", nav: false, above: "failures" },
];
