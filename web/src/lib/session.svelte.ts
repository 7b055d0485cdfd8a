// Who is looking. The token lives in this tab only (sessionStorage) and is sent as a header: no cookie, so no other page
// can use it.
const PLACE = "steadfast.token";

class Session {
  token = $state(sessionStorage.getItem(PLACE) ?? "");
  /** The API asked for a token that we do not have. */
  locked = $state(false);
  role = $state<"admin" | "project">("admin");
  project = $state<string>();

  refused(): void {
    this.locked = true;
  }

  enter(token: string): void {
    this.token = token;
    sessionStorage.setItem(PLACE, token);
  }

  admitted(role: "admin" | "project", project?: string): void {
    this.locked = false;
    this.role = role;
    this.project = project;
  }

  leave(): void {
    this.token = "";
    sessionStorage.removeItem(PLACE);
    this.locked = true;
  }

  get isAdmin(): boolean {
    return this.role === "admin";
  }
}

export const session = new Session();
