import type { CriClient } from "../cri/cri-client.ts";

/** Kubelets mark what is theirs with it. */
const podLabel = "io.kubernetes.pod.uid";

/** Ends every pod of a runtime, at once and with everything in it; answers how many there were. */
export async function removePods(cri: CriClient): Promise<number> {
  const { items } = await cri.runtime.listPodSandbox({ filter: undefined });
  const pods = items.filter(({ labels }) => podLabel in labels);
  await Promise.all(pods.map(({ id }) => cri.runtime.removePodSandbox({ podSandboxId: id })));
  return pods.length;
}
