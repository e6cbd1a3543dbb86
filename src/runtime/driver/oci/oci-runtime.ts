export interface OciRuntime {
  readonly name: string;
  readonly path: string;
  /** Where the runtime keeps its own state. */
  readonly root: string;
}

/**
 * Before a runtime's words in a shell: one thread at a time for runc, which is in Go. On a busy machine of two cores
 * containers were made sooner at the median with it, on a quiet one hardly. Containers never see it.
 */
export const briefGo = "GOMAXPROCS=1";

/** What a runtime says when it fails, without the log line around it. */
export function readableComplaint(said: string): string {
  const last = said.trim().split("\n").at(-1) ?? "";
  const quoted = /\bmsg="((?:[^"\\]|\\.)*)"/.exec(last)?.[1];
  return quoted === undefined ? last.trim() : quoted.replace(/\\(.)/g, "$1");
}
