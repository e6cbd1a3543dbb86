import { access, constants } from "node:fs/promises";
import { type CgroupLayout, cgroupDirs, detectCgroupLayout } from "../lib/cgroup/cgroup-layout.ts";

export interface ContainerProblem {
  /** Whether containers could not run at all. */
  readonly fatal: boolean;
  readonly sentence: string;
}

/** What is missing of this machine's cgroups for containers to run, or to run with limits. */
export async function checkCgroups(driver: "auto" | "oci" | "host"): Promise<ContainerProblem | undefined> {
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
  /** Hierarchies that cannot be written to. */
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
