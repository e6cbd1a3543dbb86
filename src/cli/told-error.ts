/** The command failed, and what it printed says so already: exit code 1 without another word. */
export class ToldError extends Error {
  constructor() {
    super("what was wrong has been printed");
    this.name = "ToldError";
  }
}
