import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupLayout, containerCgroup } from "../../../lib/cgroup/cgroup-layout.ts";
import { removeCgroup } from "../../../lib/cgroup/remove-cgroup.ts";
import type { Clock } from "../../../lib/clock.ts";
import { runQuietly } from "../../process/run-quietly.ts";
import { readText } from "../container-files.ts";
import { bootId } from "../linux/process-info.ts";
import { plainContainer } from "../plain-container.ts";
import { buildOciConfig } from "./build-oci-config.ts";
import { gatherMachineFacts } from "./gather-facts.ts";
import { readableComplaint } from "./oci-runtime.ts";

/** A program that no root file system has. */
const missingProgram = "/kindling-probe";

/**
 * Why the runtime does not work here, or undefined when it does. It is told to run a program that does not exist: a
 * runtime that gets as far as missing it has made namespaces, mounts and cgroups. That it works is remembered for the
 * boot and the binary; that it does not may be the moment's fault.
 */
export async function probeOciRuntime(options: {
  path: string;
  dir: string;
  layout: CgroupLayout;
  clock: Clock;
  signal?: AbortSignal;
}): Promise<string | undefined> {
  const { path, dir, layout, clock, signal } = options;
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
    const { output: said } = await runQuietly(path, args, { timeoutMs: 20_000, signal });
    const works = said.includes(missingProgram) && /no such file|not found/i.test(said);
    if (!works) return readableComplaint(said) || "it said nothing";
    await writeFile(cacheFile, subject);
    return undefined;
  } finally {
    await removeCgroup(layout, containerCgroup("", id), clock);
    await rm(bundle, { recursive: true, force: true });
  }
}
