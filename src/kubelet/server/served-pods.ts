import type { Pod } from "../../api/meta/objects.ts";
import { allContainersOf, containersOf } from "../../api/pod/pod-containers.ts";
import type { StartupBudget } from "../../api/pod/startup-budget.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { type Container, ContainerState, type PodSandbox, PodSandboxState } from "../../cri/generated/cri.ts";
import { HttpError, type RequestPath } from "../../lib/http/http-exchange.ts";
import { runtimeContainerId } from "../model/cri-labels.ts";
import type { NodeProber } from "../probes/create-prober.ts";
import type { StartupProbeAdvice } from "../probes/startup-advice.ts";

/** Pods of this node, each with its current status from the kubelet. */
export interface ServedPods {
  find(namespace: string, name: string): Pod | undefined;
  list(): Iterable<Pod>;
}

/** Container named by a request path. */
interface ContainerPath {
  readonly namespace: string;
  readonly pod: string;
  /** Empty if the request does not specify it. */
  readonly uid: string;
  readonly container: string;
}

/** Parses `NAMESPACE/POD/CONTAINER` or `NAMESPACE/POD/UID/CONTAINER`. */
export function parseContainerPath(segments: readonly string[]): ContainerPath | undefined {
  const [namespace = "", pod = "", third = "", fourth] = segments;
  if (segments.length < 3 || segments.length > 4) return undefined;
  return fourth === undefined
    ? { namespace, pod, uid: "", container: third }
    : { namespace, pod, uid: third, container: fourth };
}

export function hasContainer({ spec }: Pod, container: string): boolean {
  return allContainersOf(spec).some(({ name }) => name === container);
}

/** Returns the pod. Throws a 404 error if it is not on this node. */
export function requirePod(
  pods: ServedPods,
  { namespace, pod: name, uid }: Omit<ContainerPath, "container">,
): Pod {
  const pod = pods.find(namespace, name);
  if (!pod || (uid && pod.metadata.uid !== uid)) throw new HttpError(404, "pod does not exist");
  return pod;
}

/** Lists pods with a ready sandbox in the runtime, with their running containers. */
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

export interface StartupProbesDeps {
  readonly pods: ServedPods;
  readonly probes: Pick<NodeProber, "startupBudget" | "startupAdvice">;
}

type OfContainer<T> = T & { readonly container: string };

/**
 * Response of `/startupProbes/NAMESPACE/POD`: the startup budget of each container that has not started yet, and the
 * proposed startup probe of each container with enough observed starts.
 */
export function listStartupProbes(
  { pods, probes }: StartupProbesDeps,
  { segments: [, namespace = "", name = ""] }: RequestPath,
): {
  readonly probes: readonly OfContainer<StartupBudget>[];
  readonly advice: readonly OfContainer<StartupProbeAdvice>[];
} {
  const pod = pods.find(namespace, name);
  if (!pod) throw new HttpError(404, `pod ${JSON.stringify(name)} does not exist`);
  return {
    probes: containerIds(pod).flatMap(({ container, id }) => {
      const budget = probes.startupBudget(id);
      return budget ? [{ container, ...budget }] : [];
    }),
    advice: containersOf(pod.spec).flatMap((container) => {
      const advice = probes.startupAdvice(pod, container);
      return advice ? [{ container: container.name, ...advice }] : [];
    }),
  };
}

function containerIds({ status }: Pod): { container: string; id: string }[] {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses].map(({ name, containerID = "" }) => ({
    container: name,
    id: runtimeContainerId(containerID),
  }));
}
