import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerSpec, Namespaces } from "../driver/driver.ts";
import type { SandboxRecord } from "../state/sandbox-record.ts";
import { pauseProgram } from "./pause-program.ts";
import { sandboxHostname } from "./sandbox-files.ts";

/** A root with the pause program in it and places for what drivers mount. */
export async function writePauseRootfs(rootfs: string): Promise<void> {
  await Promise.all(
    ["proc", "dev", "sys"].map((name) => mkdir(join(rootfs, name), { recursive: true, mode: 0o755 })),
  );
  await writeFile(join(rootfs, "pause"), pauseProgram(process.arch), { mode: 0o755 });
}

/** The process that holds the namespace which the pod's containers share; it may do nothing. */
export function pauseSpec(
  sandbox: Pick<SandboxRecord, "id" | "config" | "runtimeHandler">,
  { rootfs, namespaces }: { rootfs: string; namespaces: Omit<Namespaces, "pid"> },
): ContainerSpec {
  const { id, config, runtimeHandler } = sandbox;
  return {
    id,
    handler: runtimeHandler,
    rootfs,
    readonlyRootfs: true,
    args: ["/pause"],
    env: [],
    workingDir: "/",
    // nobody: no rights over whatever runs beside it.
    user: { uid: 65_534, gid: 65_534, additionalGids: [] },
    hostname: sandboxHostname(config),
    mounts: [],
    devices: [],
    namespaces: { ...namespaces, pid: "new" },
    cgroupParent: config.linux?.cgroupParent ?? "",
    resources: { cpuShares: 2 },
    security: {
      privileged: false,
      capabilities: { add: [], drop: ["ALL"] },
      noNewPrivileges: true,
      maskedPaths: [],
      readonlyPaths: [],
      seccomp: { kind: "unconfined" },
      apparmorProfile: undefined,
    },
    sysctls: {},
    // Last to be killed when memory runs out: the pod ends with it. Drivers tolerate machines that refuse this.
    oomScoreAdj: -998,
    terminal: false,
    stdin: false,
    stdinOnce: false,
    logPath: "",
    annotations: {},
  };
}
