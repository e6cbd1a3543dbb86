import { readFile } from "node:fs/promises";
import { type ContainerProblem, checkCgroups } from "./check-cgroups.ts";

/** What keeps containers from running on this machine, or from having limits. */
export async function checkContainers(
  driver: "auto" | "oci" | "host",
): Promise<ContainerProblem | undefined> {
  // Where /proc does not tell, what is tried later does.
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  return decideCapabilities(status) ?? checkCgroups(driver);
}

/** By the kernel's numbers. */
const sysAdmin = 21n;

/** Root in a container may be root by name only: nothing can be mounted then, and no namespace be made. */
export function decideCapabilities(status: string): ContainerProblem | undefined {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective === undefined || (BigInt(`0x${effective}`) >> sysAdmin) & 1n) return undefined;
  return {
    fatal: true,
    sentence:
      "containers need CAP_SYS_ADMIN, which root does not have here: run the container around this one privileged, or use --runtime simulated for a cluster without containers",
  };
}
