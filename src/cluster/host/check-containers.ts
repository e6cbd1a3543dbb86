import { access, constants, readFile } from "node:fs/promises";
import { type CgroupLayout, cgroupDirs, detectCgroupLayout } from "../../lib/cgroup/cgroup-layout.ts";

/** Finds reasons why this machine cannot run containers, or not with limits. */
export async function checkContainers(
  driver: "auto" | "oci" | "host",
): Promise<ContainerProblem | undefined> {
  // Without /proc, a later step reports the problem.
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  return decideCapabilities(status) ?? checkCgroups(driver);
}

/** Capability numbers of the kernel. */
const sysAdmin = 21n;

/** Detects root without the capabilities to mount or to create namespaces, as in an unprivileged container. */
export function decideCapabilities(status: string): ContainerProblem | undefined {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective === undefined || (BigInt(`0x${effective}`) >> sysAdmin) & 1n) return undefined;
  return {
    fatal: true,
    sentence:
      "containers need CAP_SYS_ADMIN, which root does not have here: run the container around this one privileged, or use --runtime simulated for a cluster without containers",
  };
}

export interface ContainerProblem {
  /** Whether containers cannot run at all. */
  readonly fatal: boolean;
  readonly sentence: string;
}

/** Finds cgroup controllers that are missing for containers or their limits. */
async function checkCgroups(driver: "auto" | "oci" | "host"): Promise<ContainerProblem | undefined> {
  const layout = detectCgroupLayout();
  const readOnly: string[] = [];
  for (const root of cgroupDirs(layout, "/")) {
    const problem = await access(root, constants.W_OK).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (problem !== undefined) readOnly.push(root);
  }
  return decideCgroups({ kind: layout.kind, readOnly, driver });
}

export function decideCgroups(facts: {
  readonly kind: CgroupLayout["kind"];
  /** Hierarchies that are not writable. */
  readonly readOnly: readonly string[];
  readonly driver: "auto" | "oci" | "host";
}): ContainerProblem | undefined {
  const { kind, readOnly, driver } = facts;
  const otherwise = "or use --runtime simulated for a cluster without containers";
  if (kind === "none") {
    return driver === "oci"
      ? {
          fatal: true,
          sentence: `there are no cgroups here, which runc needs: mount -t cgroup2 none /sys/fs/cgroup, choose --runtime host, ${otherwise}`,
        }
      : {
          fatal: false,
          sentence:
            "There are no cgroups here: containers run without limits, and there are no usage figures.",
        };
  }
  if (readOnly.length === 0) return undefined;
  return {
    fatal: true,
    sentence: `containers need cgroups, and ${readOnly[0]} cannot be written to here: mount it writable (in a container: run that one privileged), ${otherwise}`,
  };
}
