import { expect } from "vitest";
import type { Container, ContainerStatus, Event, Pod, PodCondition } from "../../api/objects.ts";
import { explainPod } from "./explain-pod.ts";
import type { PodFacts, PullFacts } from "./explanation.ts";

const now = Date.parse("2026-01-01T00:01:00Z");

/** What is known of a pod, and what is to be said of it. */
export interface Given {
  name: string;
  metadata?: Partial<Pod["metadata"]>;
  containers?: readonly Partial<Container>[];
  initContainers?: readonly Partial<Container>[];
  nodeName?: string;
  status?: Pod["status"];
  events?: readonly { reason: string; message: string }[];
  pulls?: readonly PullFacts[];
  budgets?: PodFacts["budgets"];
  advice?: PodFacts["advice"];
  spec?: object;
  stage: string;
  /** `00:10`, of the first minutes of a year. */
  since?: string;
  because: RegExp;
  heals: boolean;
  healsWhen?: string;
  fix?: RegExp;
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
    now,
  };
}

export function expectExplained(given: Given): void {
  const explanation = explainPod(factsOf(given));
  expect(explanation.stage).toBe(given.stage);
  if (given.since) expect(explanation.since).toBe(`2026-01-01T00:${given.since}Z`);
  expect(explanation.because).toMatch(given.because);
  expect(explanation.healsByItself).toBe(given.heals);
  if (given.healsWhen) expect(explanation.healsWhen).toBe(given.healsWhen);
  if (given.fix) expect(explanation.fix).toMatch(given.fix);
  else expect(explanation.fix).toBeUndefined();
}
