/** The command line was wrong: exit code 2, where other failures exit with 1. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}
