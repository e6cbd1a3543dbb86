import { defaultFeatures } from "../../api/meta/feature-gates.ts";
import type { Container, ContainerStatus, Pod, PodStatus } from "../../api/meta/objects.ts";
import type {
  ContainerState,
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../model/observed-pod.ts";
import { generatePodStatus } from "./generate-pod-status.ts";
import type { StatusFacts } from "./status-facts.ts";

/** Times and objects for tests. */
export const scheduledAt = "2022-12-06T15:33:46Z";
export const time = "2022-12-06T15:33:47Z";
export const now = Date.parse(time);
export const later = now + 60_000;

const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: scheduledAt };

interface PodParts {
  readonly spec?: Partial<NonNullable<Pod["spec"]>>;
  readonly status?: PodStatus;
  readonly metadata?: Pod["metadata"];
}

/** Pod in the API that was just bound to the node. */
export function makePod({ spec, status, metadata }: PodParts = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web",
      namespace: "default",
      uid: "uid-1",
      generation: 1,
      resourceVersion: "10",
      ...metadata,
    },
    spec: { containers: [container("web")], restartPolicy: "Always", nodeName: "node", ...spec },
    status: { phase: "Pending", qosClass: "BestEffort", conditions: [scheduled], ...status },
  };
}

export function container(name: string, more: Partial<Container> = {}): Container {
  return { name, image: `registry/${name}:1`, ...more };
}

export function sidecar(name: string): Container {
  return container(name, { restartPolicy: "Always" });
}

export function makeFacts(facts: Partial<StatusFacts> = {}): StatusFacts {
  return {
    pod: makePod(),
    observed: undefined,
    previous: undefined,
    problems: new Map(),
    sandboxProblem: undefined,
    probeResult: () => ({ started: true, ready: true }),
    termination: undefined,
    hostIps: ["192.168.0.7"],
    runtimeName: "kindling",
    features: defaultFeatures,
    now,
    ...facts,
  };
}

export function generate(facts: Partial<StatusFacts>): PodStatus {
  return generatePodStatus(makeFacts(facts));
}

export function sandbox(more: Partial<ObservedSandbox> = {}): ObservedSandbox {
  return { id: "sandbox-1", attempt: 0, ready: true, createdAtMs: now, ips: ["10.0.0.5"], ...more };
}

export function observe(
  containers: readonly ObservedContainer[],
  sandboxes: readonly ObservedSandbox[] = [sandbox()],
): ObservedPod {
  return { uid: "uid-1", namespace: "default", name: "web", sandboxes, containers };
}

export function observedContainer(
  name: string,
  state: ContainerState,
  more: Partial<ObservedContainer> = {},
): ObservedContainer {
  const attempt = more.attempt ?? 0;
  return {
    id: `${name}-${attempt}`,
    name,
    sandboxId: "sandbox-1",
    attempt,
    createdAtMs: now,
    state,
    image: `registry/${name}:1`,
    imageRef: `registry/${name}@sha256:abc`,
    specHash: "1",
    logPath: "",
    restartDelayMs: 0,
    ...more,
  };
}

export const running: ContainerState = { kind: "running", startedAtMs: now };

export function exited(exitCode: number): Extract<ContainerState, { kind: "exited" }> {
  const reason = exitCode === 0 ? "Completed" : "Error";
  return { kind: "exited", startedAtMs: now, finishedAtMs: now, exitCode, reason, message: "" };
}

/** Previous status of a container. */
export function statusBefore(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: `registry/${name}:1`, imageID: "", ready: false, restartCount: 0, ...more };
}

export const runningBefore = { running: { startedAt: scheduledAt } };

/** Condition of the given type. */
export function conditionOf(status: PodStatus, type: string) {
  return status.conditions?.find((condition) => condition.type === type);
}

export function conditionStatuses(status: PodStatus): Record<string, string> {
  return Object.fromEntries((status.conditions ?? []).map(({ type, status }) => [type, status]));
}
