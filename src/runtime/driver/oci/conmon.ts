import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { ContainerSpec } from "../driver.ts";
import { driverFailed } from "../driver-error.ts";
import { type OciRuntime, readableComplaint } from "./oci-runtime.ts";

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
  const stderr = await open(join(launch.bundle, "conmon.log"), "w", 0o600);
  try {
    const child = spawn(launch.conmon, conmonArgs(launch), {
      cwd: launch.bundle,
      env: { PATH: process.env.PATH, _OCI_SYNCPIPE: "3", _OCI_STARTPIPE: "4" },
      detached: true,
      stdio: ["ignore", "ignore", stderr.fd, "pipe", "pipe"],
    });
    const failed = once(child, "error").then(([error]) => Promise.reject(error));
    const sync = child.stdio[3] as Readable;
    const start = child.stdio[4] as Writable;
    start.on("error", () => {});
    // conmon waits for a byte, in case it is to be put into a cgroup first.
    start.end("\0");
    const answer = await Promise.race([readAnswer(sync), failed]);
    sync.destroy();
    if (answer.data > 0) {
      return {
        pid: answer.data,
        monitorPid: Number(await readFile(join(launch.bundle, "conmon.pid"), "utf8")),
      };
    }
    throw new Error(
      readableComplaint(answer.message ?? "") ||
        (await readFile(join(launch.bundle, "conmon.log"), "utf8")).trim(),
    );
  } catch (error) {
    throw driverFailed(`creating container ${launch.spec.id}`, error);
  } finally {
    await stderr.close();
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

async function readAnswer(sync: Readable): Promise<SyncAnswer> {
  let text = "";
  const tooLate = setTimeout(() => sync.destroy(new Error("conmon did not answer")), createTimeoutMs);
  try {
    for await (const chunk of sync) {
      text += String(chunk);
      if (text.includes("\n")) return JSON.parse(text.slice(0, text.indexOf("\n"))) as SyncAnswer;
    }
  } finally {
    clearTimeout(tooLate);
  }
  return { data: -1, message: text };
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
