import { expect } from "vitest";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { hashContainer } from "../model/cri-labels.ts";
import type {
  CombinedProbeResult,
  ContainerState,
  ObservedContainer,
  ObservedSandbox,
} from "../model/observed-pod.ts";
import { decidePodActions } from "./decide-pod-actions.ts";
import type { PodAction, PodPlan, PodPlanFacts } from "./pod-plan.ts";

export const now = 1_000_000;
export const sandbox: ObservedSandbox = {
  id: "s0",
  attempt: 0,
  ready: true,
  createdAtMs: 0,
  ips: ["10.0.0.2"],
};
/** Sandbox that is not ready any more. */
export const dead = { ...sandbox, ready: false };
export const running: ContainerState = { kind: "running", startedAtMs: now - 5_000 };
export const exited = (exitCode: number, ranMs = 1_000): ContainerState => ({
  kind: "exited",
  startedAtMs: now - 3_000 - ranMs,
  finishedAtMs: now - 3_000,
  exitCode,
  reason: exitCode ? "Error" : "Completed",
  message: "",
});

export function observedContainer(
  name: string,
  state: ContainerState,
  more: Partial<ObservedContainer> = {},
): ObservedContainer {
  return {
    id: `${name}-${more.attempt ?? 0}`,
    name,
    sandboxId: "s0",
    attempt: 0,
    createdAtMs: 0,
    state,
    image: "i",
    imageRef: "sha256:i",
    specHash: hashContainer({ name, image: "i" }),
    restartDelayMs: 0,
    logPath: "",
    ...more,
  };
}

/** State of a pod. */
interface Given {
  main?: readonly (string | Container)[];
  init?: readonly (string | Container)[];
  restartPolicy?: string;
  hostNetwork?: boolean;
  status?: Pod["status"];
  sandboxes?: readonly ObservedSandbox[];
  containers?: readonly ObservedContainer[];
  probeResults?: Readonly<Record<string, Partial<CombinedProbeResult>>>;
  /** Ids of containers whose postStart hook has not completed. */
  hooks?: readonly string[];
}

/** State of a pod and the expected plan. */
export interface Case extends Given {
  name: string;
  expected: string;
  /** Containers in CrashLoopBackOff. */
  waiting?: readonly string[];
  again?: number;
}

export const sidecar = (name: string): Container => ({ name, image: "i", restartPolicy: "Always" });

export function planFor(given: Given): PodPlan {
  const named = (it: string | Container) => (typeof it === "string" ? { name: it, image: "i" } : it);
  const containers = (given.main ?? ["a"]).map(named);
  const initContainers = (given.init ?? []).map(named);
  const facts: PodPlanFacts = {
    pod: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", namespace: "n", uid: "u" },
      spec: {
        containers,
        initContainers,
        restartPolicy: given.restartPolicy ?? "Always",
        ...(given.hostNetwork && { hostNetwork: true }),
      },
      ...(given.status && { status: given.status }),
    },
    observed: given.sandboxes && {
      uid: "u",
      namespace: "n",
      name: "p",
      sandboxes: given.sandboxes,
      containers: given.containers ?? [],
    },
    probeResult: (id) => ({ started: true, ready: true, ...given.probeResults?.[id] }),
    hookPending: (id) => given.hooks?.includes(id) ?? false,
    maxRestartDelayMs: 300_000,
    now,
  };
  return decidePodActions(facts);
}

function describePlan({ done, actions }: PodPlan): string {
  if (done) return "done";
  return actions.map(describeAction).join(", ") || "wait";
}

function describeAction(action: PodAction): string {
  switch (action.kind) {
    case "killContainer":
      return `kill ${action.observed.id}`;
    case "stopSandbox":
      return `stop ${action.sandbox.id}`;
    case "createSandbox":
      return `sandbox ${action.attempt}`;
    case "resumePostStart":
      return `hook ${action.observed.id}`;
    case "startContainer":
      return `start ${action.role} ${action.container.name} ${action.attempt}${action.replaces ? " again" : ""} next ${action.nextRestartDelayMs}`;
  }
}

export function expectPlan(given: Case): void {
  const decided = planFor(given);
  expect(describePlan(decided)).toBe(given.expected);
  expect([...decided.crashLoops.keys()]).toEqual(given.waiting ?? []);
  expect(decided.decideAgainAt).toBe(given.again);
}
