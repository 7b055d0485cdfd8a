// Where we are: `#/sessions/acme/s1?range=1d` is a page, names below it and a query.
export interface Place {
  page: string;
  names: string[];
  query: URLSearchParams;
}

function read(): Place {
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...names] = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { page: page || "live", names: names.filter(Boolean), query: new URLSearchParams(search) };
}

class Router {
  place = $state.raw<Place>(read());

  constructor() {
    addEventListener("hashchange", () => {
      this.place = read();
    });
  }

  /** Goes to another page. */
  go(to: string): void {
    location.hash = to.replace(/^#/, "");
  }

  /** Changes the query of this page, without another entry in the history. */
  ask(changes: Record<string, string | undefined>): void {
    const query = new URLSearchParams(this.place.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value) query.set(name, value);
      else query.delete(name);
    }
    history.replaceState(null, "", link([this.place.page, ...this.place.names], Object.fromEntries(query)));
    this.place = read();
  }
}

/** The address of a page. */
export function link(names: string[], query: Record<string, string | undefined> = {}): string {
  const path = names.map(encodeURIComponent).join("/");
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const search = new URLSearchParams(pairs).toString();
  return `#/${path}${search ? `?${search}` : ""}`;
}

export const router = new Router();
