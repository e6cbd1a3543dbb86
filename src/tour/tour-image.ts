/** The image that the pods of the tour run: Node itself, with two small programs. */
export interface TourImage {
  readonly reference: string;
  readonly bytes: number;
  /** How fast its registry sends it: slow enough to be watched. */
  readonly bytesPerSecond: number;
  /** Where Node is in it. */
  readonly node: string;
  /** No container ever runs: annotations say what would have happened. */
  readonly simulated: boolean;
}

/** Counts as started after START_SECONDS, and ends when it is told to. */
export const serverPath = "/app/server.js";
/** Ends with 0 once the server has started: for probes. */
export const startedPath = "/app/started.js";

export const programs: Readonly<Record<string, string>> = {
  [serverPath]: `const { writeFileSync } = require("node:fs");
const seconds = Number(process.env.START_SECONDS ?? 0);
process.on("SIGTERM", () => process.exit(0));
console.log(process.env.GREETING ?? "hello", "- up in", seconds, "s");
setTimeout(() => writeFileSync("/tmp/started", ""), 1000 * seconds);
setInterval(() => {}, 1 << 30);
`,
  [startedPath]: `process.exit(require("node:fs").existsSync("/tmp/started") ? 0 : 1);
`,
};
