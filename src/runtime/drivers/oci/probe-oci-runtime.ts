import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupLayout, containerCgroup, removeCgroup } from "../../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { tryRunProgram } from "../../../lib/process/run-program.ts";
import { readText } from "../container-files.ts";
import type { ContainerSpec } from "../driver.ts";
import { bootId } from "../linux/process-info.ts";
import { buildOciConfig } from "./build-oci-config.ts";
import { gatherMachineFacts } from "./gather-facts.ts";

interface ProbeOptions {
  readonly path: string;
  /** Directory for the probe's container and its cached result. */
  readonly dir: string;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** Program that no root file system has. */
const missingProgram = "/kindling-probe";

/**
 * Returns why the runtime does not work on this machine; undefined if it does. It runs a program that does not exist: a
 * runtime that reports it as missing has created namespaces, mounts and cgroups. Success is cached for the boot and the
 * binary; failure may be temporary and is not.
 */
export async function probeOciRuntime(options: ProbeOptions): Promise<string | undefined> {
  const { path, dir, layout, clock, signal } = options;
  await removeLeftProbes({ dir, layout, clock });
  const { mtimeMs, size } = await stat(path);
  const subject = `${path} ${mtimeMs} ${size} ${bootId()} ${layout.kind}`;
  const cacheFile = join(dir, `probe-${path.replaceAll("/", "_")}`);
  if ((await readText(cacheFile)) === subject) return undefined;

  const id = `kindling-probe-${process.pid}`;
  const bundle = join(dir, id);
  await mkdir(join(bundle, "rootfs"), { recursive: true });
  try {
    const container = { ...plainContainer, id, rootfs: join(bundle, "rootfs"), args: [missingProgram] };
    const facts = { ...gatherMachineFacts(layout), devices: [], localSeccomp: undefined };
    const config = buildOciConfig(container, facts);
    await writeFile(join(bundle, "config.json"), JSON.stringify(config));
    const args = ["--root", join(bundle, "state"), "run", "--bundle", bundle, id];
    const { output } = await tryRunProgram(path, args, { timeoutMs: 20_000, signal });
    const works = output.includes(missingProgram) && /no such file|not found/i.test(output);
    if (!works) return runtimeErrorMessage(output) || "it printed nothing";
    await writeFile(cacheFile, subject);
    return undefined;
  } finally {
    await removeCgroup(layout, containerCgroup("", id), clock);
    await rm(bundle, { recursive: true, force: true });
  }
}

/** Removes the bundles and cgroups of probes that were killed. */
async function removeLeftProbes({
  dir,
  layout,
  clock,
}: Pick<ProbeOptions, "dir" | "layout" | "clock">): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    if (!/^kindling-probe-\d+$/.test(name)) continue;
    await removeCgroup(layout, containerCgroup("", name), clock);
    await rm(join(dir, name), { recursive: true, force: true });
  }
}

/** Defaults of containers that the runtime creates for its own probes. */
export const plainContainer: Omit<ContainerSpec, "id" | "rootfs" | "args"> = {
  readonlyRootfs: false,
  env: [],
  workingDir: "/",
  user: { uid: 0, gid: 0, additionalGids: [] },
  hostname: "",
  mounts: [],
  devices: [],
  namespaces: { network: "host", ipc: "new", uts: "new", pid: "new" },
  cgroupParent: "",
  resources: {},
  security: {
    privileged: false,
    capabilities: { add: [], drop: [] },
    noNewPrivileges: false,
    maskedPaths: [],
    readonlyPaths: [],
    seccomp: { kind: "runtimeDefault" },
    apparmorProfile: undefined,
  },
  sysctls: {},
  oomScoreAdj: undefined,
  terminal: false,
  stdin: false,
  stdinOnce: false,
  logPath: "",
  annotations: {},
};

export interface OciRuntime {
  readonly name: string;
  readonly path: string;
  /** Directory of the runtime's own state. */
  readonly root: string;
}

/**
 * Whether the runtime is runc or crun: it takes milliseconds, and its containers consist only of processes, cgroups and
 * mounts in their own namespace. Others (Kata, a wrapper script) may boot a virtual machine and keep more state.
 */
export function isPlainRuntime({ name }: Pick<OciRuntime, "name">): boolean {
  return name === "runc" || name === "crun";
}

/** Shell that runs the runtime: a slow runtime must not block programs for pods of other runtimes. */
export function shellFor(runtime: Pick<OciRuntime, "name">): "pooled" | "own" {
  return isPlainRuntime(runtime) ? "pooled" : "own";
}

/**
 * Environment of runc, which is in Go: one thread at a time. On a busy machine of two cores containers were created
 * faster at the median, on an idle one hardly. Containers do not see it.
 */
export const singleThreadedGo = "GOMAXPROCS=1";

/** Error message of a runtime without the log line around it. */
export function runtimeErrorMessage(said: string): string {
  const last = said.trim().split("\n").at(-1) ?? "";
  const quoted = /\bmsg="((?:[^"\\]|\\.)*)"/.exec(last)?.[1];
  return quoted === undefined ? last.trim() : quoted.replace(/\\(.)/g, "$1");
}

const deleteTimeoutMs = 30_000;

/**
 * Lets the runtime delete what it keeps of a dead or partly created container. A failure is logged only; the driver
 * removes the rest.
 */
export async function deleteByRuntime(
  runtime: OciRuntime,
  containerId: string,
  logger: Logger,
): Promise<void> {
  const args = ["--root", runtime.root, "delete", "--force", containerId];
  const { exitCode, output } = await tryRunProgram(runtime.path, args, {
    timeoutMs: deleteTimeoutMs,
    shell: shellFor(runtime),
  });
  if (exitCode !== 0)
    logger.debug(`${runtime.name} delete failed`, { container: containerId, exitCode, output });
}
