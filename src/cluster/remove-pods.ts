import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { CriClient } from "../cri/cri-client.ts";
import { removeNodeCgroups } from "../kubelet/cgroup/open-pod-cgroups.ts";
import { systemClock } from "../lib/clock.ts";
import { kubeletDirOf } from "./data-dir/data-dir-paths.ts";

/** Kubelets mark what is theirs with it. */
const podLabel = "io.kubernetes.pod.uid";

/**
 * Ends the pods of a node, at once and with everything in them; answers how many there were. A runtime of ours has no
 * others; in somebody else's only those are touched that this node's kubelet has directories for.
 */
export async function removePods(
  cri: CriClient,
  { runtime, nodeDir }: { readonly runtime: "own" | "simulated" | "endpoint"; readonly nodeDir: string },
): Promise<number> {
  const kubeletDir = kubeletDirOf(nodeDir);
  const { items } = await cri.runtime.listPodSandbox({ filter: undefined });
  const known = new Set<string>(
    runtime === "endpoint" ? await readdir(join(kubeletDir, "pods")).catch(() => []) : [],
  );
  const pods = items.filter(({ labels }) => runtime !== "endpoint" || known.has(labels[podLabel] ?? ""));
  await Promise.all(pods.map(({ id }) => cri.runtime.removePodSandbox({ podSandboxId: id })));
  if (runtime !== "simulated")
    await removeNodeCgroups({ nodeName: basename(nodeDir), dataDir: kubeletDir, clock: systemClock });
  return pods.length;
}
