import { expect } from "vitest";
import type {
  Container,
  ContainerStatus,
  Event,
  Node,
  NodeStatus,
  Pod,
  PodCondition,
} from "../api/meta/objects.ts";
import { explainPod } from "./explain-pod.ts";
import type { PodFacts } from "./explanation.ts";

const now = Date.parse("2026-01-01T00:01:00Z");

type NodeInfo = NonNullable<NodeStatus["nodeInfo"]>;

/** Facts about a pod and the expected explanation. */
export interface Given {
  name: string;
  metadata?: Partial<Pod["metadata"]>;
  containers?: readonly Partial<Container>[];
  initContainers?: readonly Partial<Container>[];
  nodeName?: string;
  status?: Pod["status"];
  events?: readonly { reason: string; message: string; count?: number }[];
  pulls?: PodFacts["pulls"];
  budgets?: PodFacts["budgets"];
  advice?: PodFacts["advice"];
  node?: PodFacts["node"];
  claims?: PodFacts["claims"];
  missing?: PodFacts["missing"];
  logs?: PodFacts["logs"];
  spec?: object;
  stage: string;
  /** Minute and second, for example `00:10`. */
  since?: string;
  because: RegExp;
  transient: boolean;
  resolvesWhen?: string;
  fix?: RegExp;
  /** Log lines that are shown. */
  shows?: readonly string[];
}

export const condition = (type: string, status: string, more: Partial<PodCondition> = {}): PodCondition => ({
  type,
  status,
  lastTransitionTime: "2026-01-01T00:00:10Z",
  ...more,
});
export const scheduled = condition("PodScheduled", "True");
export const sandboxed = [scheduled, condition("PodReadyToStartContainers", "True")];
export const status = (name: string, more: Partial<ContainerStatus>): ContainerStatus => ({
  name,
  image: "i",
  imageID: "",
  ready: false,
  restartCount: 0,
  ...more,
});
export const waiting = (reason: string, message = "") =>
  status("c", { state: { waiting: { reason, message } } });
export const advice = {
  container: "c",
  periodSeconds: 5,
  failureThreshold: 37,
  slowestSeconds: 60,
  reason: "3 starts",
};
export const running = { running: { startedAt: "2026-01-01T00:00:30Z" } };

const nodeOf = (node: Partial<Node>): PodFacts["node"] => ({
  kind: "found",
  object: { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, ...node },
});
export const notReady = nodeOf({
  status: {
    conditions: [
      {
        type: "Ready",
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
      },
    ],
  },
});
export const withRuntime = (containerRuntimeVersion: string) =>
  nodeOf({ status: { nodeInfo: { containerRuntimeVersion } as NodeInfo } });

function factsOf(given: Given): PodFacts {
  const named = (list: readonly Partial<Container>[] = []) =>
    list.map((container) => ({ name: "c", image: "web:1", ...container }));
  return {
    pod: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "p",
        namespace: "shop",
        uid: "u",
        creationTimestamp: "2026-01-01T00:00:00Z",
        ...given.metadata,
      },
      spec: {
        containers: named(given.containers ?? [{}]),
        initContainers: named(given.initContainers),
        ...(given.nodeName !== "" && { nodeName: given.nodeName ?? "n" }),
        ...given.spec,
      },
      ...(given.status && { status: given.status }),
    },
    events: (given.events ?? []).map(
      (event): Event => ({
        apiVersion: "v1",
        kind: "Event",
        metadata: {},
        involvedObject: {},
        lastTimestamp: "2026-01-01T00:00:50Z",
        ...event,
      }),
    ),
    pulls: given.pulls ?? [],
    budgets: given.budgets ?? [],
    advice: given.advice ?? [],
    node: given.node,
    claims: given.claims,
    missing: given.missing,
    logs: given.logs,
    now,
  };
}

export function expectExplained(given: Given): void {
  const explanation = explainPod(factsOf(given));
  expect(explanation.stage).toBe(given.stage);
  if (given.since) expect(explanation.since).toBe(`2026-01-01T00:${given.since}Z`);
  expect(explanation.because).toMatch(given.because);
  expect(explanation.isTransient).toBe(given.transient);
  if (given.resolvesWhen) expect(explanation.resolvesWhen).toBe(given.resolvesWhen);
  if (given.fix) expect(explanation.fix).toMatch(given.fix);
  else expect(explanation.fix).toBeUndefined();
  expect(explanation.logs?.flatMap(({ lines }) => lines) ?? []).toEqual(given.shows ?? []);
}
