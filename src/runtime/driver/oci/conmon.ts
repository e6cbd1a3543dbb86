import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { quoteShell } from "../../../lib/quote-shell.ts";
import { runInShell } from "../../process/run-quietly.ts";
import type { ContainerSpec } from "../driver.ts";
import { driverFailed } from "../driver-error.ts";
import { briefGo, type OciRuntime, readableComplaint } from "./oci-runtime.ts";

/**
 * conmon stays with a container instead of the daemon: it is the parent that learns the exit code, reads the output
 * into the log and holds the terminal. One to two megabytes each.
 */
export interface ConmonLaunch {
  readonly conmon: string;
  readonly runtime: OciRuntime;
  readonly spec: ContainerSpec;
  /** Holds config.json; conmon adds its control pipe, attach socket and pid files. */
  readonly bundle: string;
  readonly exitsDir: string;
}

const createTimeoutMs = 120_000;

/** Has conmon run the runtime's `create`; answers with the pid of the container's waiting process. */
export async function createWithConmon(launch: ConmonLaunch): Promise<{ pid: number; monitorPid: number }> {
  const { bundle, spec } = launch;
  const log = join(bundle, "conmon.log");
  const words = [launch.conmon, ...conmonArgs(launch)].map(quoteShell).join(" ");
  // It goes into the background by itself, and says one line on descriptor 3 when `create` is done.
  const script = `cd ${quoteShell(bundle)} &&
    ${briefGo} _OCI_SYNCPIPE=3 ${words} 3>&1 </dev/null >/dev/null 2>${quoteShell(log)} |
    { read -r answer; printf %s "$answer"; }`;
  try {
    const { output } = await runInShell(script, { timeoutMs: createTimeoutMs });
    const answer = parseAnswer(output);
    if (answer.data > 0)
      return { pid: answer.data, monitorPid: Number(await readFile(join(bundle, "conmon.pid"), "utf8")) };
    throw new Error(readableComplaint(answer.message ?? "") || (await readFile(log, "utf8")).trim());
  } catch (error) {
    throw driverFailed(`creating container ${spec.id}`, error);
  }
}

function conmonArgs({ runtime, spec, bundle, exitsDir }: ConmonLaunch): string[] {
  return [
    ...["--api-version", "1", "--cid", spec.id, "--cuuid", spec.id, "--name", spec.id],
    ...["--runtime", runtime.path, "--runtime-arg", `--root=${runtime.root}`],
    ...["--bundle", bundle, "--persist-dir", bundle, "--exit-dir", exitsDir, "--full-attach"],
    ...["--container-pidfile", join(bundle, "pid"), "--conmon-pidfile", join(bundle, "conmon.pid")],
    ...[
      "--log-path",
      spec.logPath ? `k8s-file:${spec.logPath}` : "off",
      "--log-level",
      "error",
      "--no-sync-log",
    ],
    ...(spec.terminal ? ["--terminal"] : []),
    ...(spec.stdin ? ["--stdin"] : []),
    // Without it conmon closes the container's stdin when the first client has ended its own: stdinOnce.
    ...(spec.stdin && !spec.stdinOnce ? ["--leave-stdin-open"] : []),
  ];
}

interface SyncAnswer {
  readonly data: number;
  readonly message?: string;
}

function parseAnswer(text: string): SyncAnswer {
  try {
    return JSON.parse(text) as SyncAnswer;
  } catch {
    return { data: -1, message: text };
  }
}

/** Messages of conmon's control pipe. Nobody reads it when conmon is gone: then there is nothing to tell. */
export async function tellConmon(
  bundle: string,
  message: { kind: "resize"; columns: number; rows: number } | { kind: "reopenLog" },
): Promise<void> {
  const line = message.kind === "resize" ? `1 ${message.rows} ${message.columns}\n` : "2 0 0\n";
  try {
    const control = await open(join(bundle, "ctl"), constants.O_WRONLY | constants.O_NONBLOCK);
    await control.write(line).finally(() => control.close());
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENXIO" && code !== "ENOENT") throw error;
  }
}
