import { describe, expect, test } from "vitest";
import type { Container, Pod } from "../../api/objects.ts";
import type { ContainerState, ObservedContainer, ObservedSandbox } from "../observed-pod.ts";
import type { ProbeVerdict } from "../probe/prober.ts";
import { decidePodActions } from "./decide-pod-actions.ts";
import type { PodAction, PodFacts, PodPlan } from "./pod-plan.ts";

const now = 1_000_000;
const sandbox: ObservedSandbox = { id: "s0", attempt: 0, ready: true, createdAtMs: 0, ips: ["10.0.0.2"] };
const running: ContainerState = { kind: "running", startedAtMs: now - 5_000 };
const exited = (exitCode: number, ranMs = 1_000): ContainerState => ({
  kind: "exited",
  startedAtMs: now - 3_000 - ranMs,
  finishedAtMs: now - 3_000,
  exitCode,
  reason: exitCode ? "Error" : "Completed",
  message: "",
});

function observedContainer(
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
    specHash: "same",
    restartDelayMs: 0,
    logPath: "",
    ...more,
  };
}

interface Case {
  name: string;
  main?: readonly (string | Container)[];
  init?: readonly (string | Container)[];
  restartPolicy?: string;
  hostNetwork?: boolean;
  status?: Pod["status"];
  sandboxes?: readonly ObservedSandbox[];
  containers?: readonly ObservedContainer[];
  verdicts?: Readonly<Record<string, Partial<ProbeVerdict>>>;
  /** Containers, by id, whose postStart hook has not ended. */
  hooks?: readonly string[];
  expected: string;
  /** By container name. */
  waiting?: readonly string[];
  again?: number;
}

const sidecar = (name: string): Container => ({ name, image: "i", restartPolicy: "Always" });
const hooked = (container: Container): Container => ({
  ...container,
  lifecycle: { postStart: { sleep: { seconds: 5 } } },
});

function plan(given: Case): PodPlan {
  const named = (it: string | Container) => (typeof it === "string" ? { name: it, image: "i" } : it);
  const containers = (given.main ?? ["a"]).map(named);
  const initContainers = (given.init ?? []).map(named);
  const facts: PodFacts = {
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
    verdict: (id) => ({ started: true, ready: true, ...given.verdicts?.[id] }),
    hookPending: (id) => given.hooks?.includes(id) ?? false,
    specHash: () => "same",
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

const dead = { ...sandbox, ready: false };
const kill = { kill: { probe: "liveness", message: "m" } } as const;

describe("what a pod needs next", () => {
  test.each<Case>([
    { name: "nothing there", expected: "sandbox 0" },
    {
      name: "a postStart hook that a kubelet before did not bring to its end is run again",
      main: [hooked({ name: "a", image: "i" })],
      sandboxes: [sandbox],
      containers: [observedContainer("a", running)],
      hooks: ["a-0"],
      expected: "hook a-0",
    },
    {
      name: "a hook that has ended is not",
      main: [hooked({ name: "a", image: "i" })],
      sandboxes: [sandbox],
      containers: [observedContainer("a", running)],
      expected: "wait",
    },
    {
      name: "nor is one of a container that has to go",
      main: [hooked({ name: "a", image: "i" })],
      sandboxes: [sandbox],
      containers: [observedContainer("a", running)],
      hooks: ["a-0"],
      verdicts: { "a-0": { kill: { probe: "liveness", message: "m" } } },
      expected: "kill a-0",
    },
    {
      name: "nor one of a container that has ended",
      main: [hooked({ name: "a", image: "i" })],
      restartPolicy: "Never",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(0))],
      hooks: ["a-0"],
      expected: "done",
    },
    {
      name: "nothing is started after a sidecar before its hook has ended",
      init: [hooked(sidecar("s"))],
      sandboxes: [sandbox],
      containers: [observedContainer("s", running)],
      hooks: ["s-0"],
      expected: "hook s-0",
    },
    {
      name: "a sidecar's hook beside main containers that run",
      init: [hooked(sidecar("s"))],
      sandboxes: [sandbox],
      containers: [observedContainer("a", running), observedContainer("s", running)],
      hooks: ["s-0"],
      expected: "hook s-0",
    },
    {
      name: "sandbox without an address",
      sandboxes: [{ ...sandbox, ips: [] }],
      expected: "stop s0, sandbox 1",
    },
    {
      name: "the host's network needs no address",
      hostNetwork: true,
      sandboxes: [{ ...sandbox, ips: [] }],
      expected: "start main a 0 next 0",
    },
    {
      name: "sandbox stands",
      main: ["a", "b"],
      sandboxes: [sandbox],
      expected: "start main a 0 next 0, start main b 0 next 0",
    },
    {
      name: "two sandboxes claim to be ready",
      sandboxes: [{ ...sandbox, id: "s1", attempt: 1 }, sandbox],
      expected: "stop s1, stop s0, sandbox 2",
    },
    {
      name: "a sandbox that was made just now died",
      sandboxes: [{ ...dead, createdAtMs: now - 400 }],
      expected: "wait",
      again: now + 600,
    },
    {
      name: "sandbox lost: containers of it go with it",
      sandboxes: [dead],
      containers: [observedContainer("a", running)],
      expected: "kill a-0, sandbox 1",
    },
    {
      name: "sandbox lost, must not be restarted",
      restartPolicy: "Never",
      sandboxes: [dead],
      containers: [observedContainer("a", exited(137))],
      expected: "done",
    },
    {
      name: "sandbox lost before any container, must not be restarted",
      restartPolicy: "Never",
      sandboxes: [dead],
      expected: "sandbox 1",
    },
    {
      name: "sandbox lost, all had succeeded",
      restartPolicy: "OnFailure",
      sandboxes: [dead],
      containers: [observedContainer("a", exited(0))],
      expected: "done",
    },
    {
      name: "all runs",
      sandboxes: [sandbox],
      containers: [observedContainer("a", running)],
      expected: "wait",
    },
    {
      name: "first crash: at once",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(1))],
      expected: "start main a 1 next 10000",
    },
    {
      name: "second crash: waits",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(1), { attempt: 1, restartDelayMs: 10_000 })],
      expected: "wait",
      waiting: ["a"],
      again: now + 7_000,
    },
    {
      name: "back-off is over",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(1), { attempt: 1, restartDelayMs: 2_000 })],
      expected: "start main a 2 next 4000",
    },
    {
      name: "ran long enough to start afresh",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(1, 601_000), { attempt: 7, restartDelayMs: 300_000 })],
      expected: "start main a 8 next 10000",
    },
    {
      name: "one waits, the other is started",
      main: ["a", "b"],
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(1), { attempt: 1, restartDelayMs: 10_000 })],
      expected: "start main b 0 next 0",
      waiting: ["a"],
      again: now + 7_000,
    },
    {
      name: "made, never started, by a kubelet that was killed",
      sandboxes: [sandbox],
      containers: [observedContainer("a", { kind: "created" }, { attempt: 2, restartDelayMs: 20_000 })],
      expected: "start main a 2 again next 20000",
    },
    {
      name: "unknown state",
      sandboxes: [sandbox],
      containers: [observedContainer("a", { kind: "unknown" })],
      expected: "kill a-0",
    },
    {
      name: "image changed",
      sandboxes: [sandbox],
      containers: [observedContainer("a", running, { specHash: "other" })],
      expected: "kill a-0",
    },
    {
      name: "a probe wants it killed",
      sandboxes: [sandbox],
      containers: [observedContainer("a", running)],
      verdicts: { "a-0": kill },
      expected: "kill a-0",
    },
    {
      name: "failed, OnFailure",
      restartPolicy: "OnFailure",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(3))],
      expected: "start main a 1 next 10000",
    },
    {
      name: "one succeeded, one runs, OnFailure",
      main: ["a", "b"],
      restartPolicy: "OnFailure",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(0)), observedContainer("b", running)],
      expected: "wait",
    },
    {
      name: "all ended, Never",
      main: ["a", "b"],
      restartPolicy: "Never",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(0)), observedContainer("b", exited(1))],
      expected: "done",
    },
    {
      name: "restart counts go on where the API has them",
      status: {
        containerStatuses: [
          { name: "a", restartCount: 4, containerID: "r://x", image: "i", imageID: "", ready: false },
        ],
      },
      sandboxes: [sandbox],
      expected: "start main a 5 next 0",
    },
    {
      name: "first init container",
      init: ["i1", "i2"],
      sandboxes: [sandbox],
      expected: "start init i1 0 next 0",
    },
    {
      name: "init container runs",
      init: ["i1"],
      sandboxes: [sandbox],
      containers: [observedContainer("i1", running)],
      expected: "wait",
    },
    {
      name: "second init container",
      init: ["i1", "i2"],
      sandboxes: [sandbox],
      containers: [observedContainer("i1", exited(0))],
      expected: "start init i2 0 next 0",
    },
    {
      name: "init containers done",
      init: ["i1"],
      sandboxes: [sandbox],
      containers: [observedContainer("i1", exited(0))],
      expected: "start main a 0 next 0",
    },
    {
      name: "init container failed",
      init: ["i1"],
      sandboxes: [sandbox],
      containers: [observedContainer("i1", exited(1))],
      expected: "start init i1 1 next 10000",
    },
    {
      name: "init container failed, Never",
      init: ["i1"],
      restartPolicy: "Never",
      sandboxes: [sandbox],
      containers: [observedContainer("i1", exited(1))],
      expected: "done",
    },
    {
      name: "init containers run anew in a new sandbox",
      init: ["i1"],
      sandboxes: [{ ...sandbox, id: "s1", attempt: 1 }, dead],
      containers: [observedContainer("i1", exited(0))],
      expected: "start init i1 1 next 0",
    },
    {
      name: "sidecar runs but has not started",
      init: [sidecar("s"), "i1"],
      sandboxes: [sandbox],
      containers: [observedContainer("s", running)],
      verdicts: { "s-0": { started: false } },
      expected: "wait",
    },
    {
      name: "sidecar has started",
      init: [sidecar("s"), "i1"],
      sandboxes: [sandbox],
      containers: [observedContainer("s", running)],
      expected: "start init i1 0 next 0",
    },
    {
      name: "a sidecar in a crash loop does not hold up what comes after those that have done their work",
      init: [sidecar("s"), "i1"],
      sandboxes: [sandbox],
      containers: [
        observedContainer("i1", exited(0)),
        observedContainer("s", exited(1), { attempt: 1, restartDelayMs: 10_000 }),
      ],
      expected: "start main a 0 next 0",
      waiting: ["s"],
      again: now + 7_000,
    },
    {
      name: "an init container that has been cleared away is not run again",
      init: ["i1", "i2"],
      sandboxes: [sandbox],
      containers: [observedContainer("i2", exited(0))],
      expected: "start main a 0 next 0",
    },
    {
      name: "an init container with a policy of its own",
      init: [{ name: "i1", image: "i", restartPolicy: "OnFailure" }],
      restartPolicy: "Never",
      sandboxes: [sandbox],
      containers: [observedContainer("i1", exited(1))],
      expected: "start init i1 1 next 10000",
    },
    {
      name: "an init container in unknown state",
      init: ["i1"],
      sandboxes: [sandbox],
      containers: [observedContainer("i1", { kind: "unknown" })],
      expected: "kill i1-0",
    },
    {
      name: "a sidecar in unknown state beside main containers that run",
      init: [sidecar("s")],
      sandboxes: [sandbox],
      containers: [observedContainer("a", running), observedContainer("s", { kind: "unknown" })],
      expected: "kill s-0",
    },
    {
      name: "a sidecar's image changed",
      init: [sidecar("s")],
      sandboxes: [sandbox],
      containers: [observedContainer("a", running), observedContainer("s", running, { specHash: "other" })],
      expected: "kill s-0",
    },
    {
      name: "sidecar ended while main containers run: comes back whatever the policy",
      init: [sidecar("s")],
      restartPolicy: "Never",
      sandboxes: [sandbox],
      containers: [observedContainer("a", running), observedContainer("s", exited(0))],
      expected: "start sidecar s 1 next 10000",
    },
    {
      name: "main containers ended: sidecars do not keep the pod",
      init: [sidecar("s")],
      restartPolicy: "Never",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(0)), observedContainer("s", running)],
      expected: "done",
    },
  ])("$name", (given) => {
    const decided = plan(given);
    expect(describePlan(decided)).toBe(given.expected);
    expect([...decided.crashLoops.keys()]).toEqual(given.waiting ?? []);
    expect(decided.decideAgainAt).toBe(given.again);
  });

  test("a crash loop says what upstream says", () => {
    const { crashLoops } = plan({
      name: "",
      sandboxes: [sandbox],
      containers: [observedContainer("a", exited(1), { attempt: 4, restartDelayMs: 80_000 })],
      expected: "",
    });
    expect(crashLoops.get("a")).toEqual({
      reason: "CrashLoopBackOff",
      message: "back-off 1m20s restarting failed container=a pod=p_n(u)",
    });
  });
});
