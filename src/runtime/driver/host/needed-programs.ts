import { DriverError } from "../driver-error.ts";
import { findProgram } from "../find-program.ts";

/** Programs that run after the root has changed, with the host's libraries. */
export const carriedPrograms = ["setpriv", "env", "mount", "umount", "rmdir"] as const;

/** Every program that the driver and its scripts run on the host, by the Debian package that has it. */
const packages: Readonly<Record<string, readonly string[]>> = {
  "util-linux": ["unshare", "nsenter", "pivot_root", "prlimit", "setpriv"],
  mount: ["mount", "umount", "findmnt"],
  bsdutils: ["script"],
  coreutils: [
    ...["cat", "chown", "cp", "dd", "env", "mkdir", "mkfifo", "mknod", "mv", "rm", "rmdir"],
    ...["sleep", "stty", "tty"],
  ],
  dash: ["sh"],
  grep: ["grep"],
  "libc-bin": ["ldd"],
};

/** Asked at each start: without one of them every container would fail, each with another's words. */
export function checkPrograms(find: (name: string) => string | undefined = findProgram): void {
  const missing = Object.entries(packages).flatMap(([from, names]) =>
    names.filter((name) => !find(name)).map((name) => ({ name, from })),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(", ");
  const wanted = [...new Set(missing.map(({ from }) => from))].join(" ");
  throw new DriverError(
    "unsupported",
    `the host driver needs ${names}, not installed here: apt-get install ${wanted}, or your system's packages that have ${missing.length === 1 ? "it" : "them"}`,
  );
}
