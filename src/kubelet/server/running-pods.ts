import type { Pod } from "../../api/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { type Container, ContainerState, type PodSandbox, PodSandboxState } from "../../cri/generated/cri.ts";

/** The pods that the runtime has, whatever the API says: their names, and which containers run. */
export async function listRunningPods(
  { runtime }: Pick<CriClient, "runtime">,
  signal: AbortSignal,
): Promise<Pod[]> {
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox({ filter: undefined }, { signal }),
    runtime.listContainers({ filter: undefined }, { signal }),
  ]);
  return runningPods(sandboxes.items, containers.containers);
}

function runningPods(sandboxes: readonly PodSandbox[], containers: readonly Container[]): Pod[] {
  const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  return sandboxes
    .filter(({ state }) => state === PodSandboxState.SANDBOX_READY)
    .map(({ id, metadata }) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: metadata?.name, namespace: metadata?.namespace, uid: metadata?.uid },
      spec: {
        containers: running
          .filter(({ podSandboxId }) => podSandboxId === id)
          .map((container) => ({ name: container.metadata?.name ?? "", image: container.image?.image })),
      },
      status: {},
    }));
}

export function podList(items: readonly Pod[]): object {
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items };
}
