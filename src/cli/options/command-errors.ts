/** Error for an invalid command line: exit code 2. Other errors exit with 1. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** Error of a command that has already printed the reason: exit code 1 without a further message. */
export class AlreadyReportedError extends Error {
  constructor() {
    super("the reason has already been printed");
    this.name = "AlreadyReportedError";
  }
}
