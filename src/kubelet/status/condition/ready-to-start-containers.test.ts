import { expect, test } from "vitest";
import { makeFacts, makePod, observe, observedContainer, running, sandbox } from "../status.fixture.ts";
import type { StatusFacts } from "../status-facts.ts";
import { readyToStartContainers } from "./ready-to-start-containers.ts";

const lost = sandbox({ ready: false });
const older = sandbox({ id: "sandbox-0", attempt: 0 });
const withoutIp = sandbox({ ips: [] });
const failedMount = {
  reason: "FailedMount",
  message: 'MountVolume.SetUp failed for volume "s" : secret "x" not found',
};

const cases: readonly (readonly [string, Partial<StatusFacts>, string | undefined])[] = [
  ["3085-1 no sandbox", {}, "no pod sandbox exists"],
  ["3085-1 a ready sandbox", { observed: observe([]) }, undefined],
  ["3085-5 a lost sandbox", { observed: observe([], [lost]) }, "pod sandbox is not ready"],
  [
    "3085-1 a sandbox without address",
    { observed: observe([], [withoutIp]) },
    "pod sandbox has no IP address",
  ],
  [
    "3085-1 the same on the host's network",
    { pod: makePod({ spec: { hostNetwork: true } }), observed: observe([], [withoutIp]) },
    undefined,
  ],
  ["one lost, one ready", { observed: observe([], [sandbox(), sandbox({ ready: false })]) }, undefined],
  ["the newer lost", { observed: observe([], [lost, older]) }, "pod sandbox is not ready"],
  [
    "two ready",
    { observed: observe([], [sandbox(), older]) },
    "multiple pod sandboxes are ready and need to be reconciled",
  ],
  [
    "3085-6 all has been stopped",
    { observed: observe([]), ending: { kind: "terminated" } },
    "pod sandbox is not ready",
  ],
  [
    "a problem of before, overcome",
    { observed: observe([]), sandboxProblem: { reason: "FailedCreatePodSandBox", message: "no" } },
    undefined,
  ],
  [
    "a volume that fails beside containers that were made",
    { observed: observe([observedContainer("web", running)]), sandboxProblem: failedMount },
    undefined,
  ],
];

test.each(cases)("%s", (_, facts, missing) => {
  const verdict = readyToStartContainers(makeFacts(facts));
  expect(verdict).toEqual(
    missing === undefined
      ? { type: "PodReadyToStartContainers", status: "True" }
      : {
          type: "PodReadyToStartContainers",
          status: "False",
          reason: "PodSandboxNotReady",
          message: missing,
        },
  );
});

test.each([
  ["3085-4 what keeps the sandbox away is said", undefined],
  ["3085-3 volumes that failed while the sandbox was made keep it False", observe([])],
])("%s", (_, observed) => {
  expect(readyToStartContainers(makeFacts({ observed, sandboxProblem: failedMount }))).toMatchObject({
    status: "False",
    ...failedMount,
  });
});

test("a pod that was stopped does not wait for its volumes any more", () => {
  const ending = { kind: "terminated" } as const;
  expect(readyToStartContainers(makeFacts({ sandboxProblem: failedMount, ending }))).toMatchObject({
    reason: "PodSandboxNotReady",
  });
});
