import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideRecovery, type RecoveryFacts } from "./decide-recovery.ts";
import {
  type Health,
  recoveryNow as now,
  oldRevision as old,
  makeRecoveryPod as pod,
  makeRecoverySet as set,
  newRevision as update,
} from "./recovery.fixture.ts";

const decide = (facts: Partial<RecoveryFacts> & Pick<RecoveryFacts, "pods">) =>
  decideRecovery({ set: set(), policy: "always", now, ...facts });

const stuckPods = [pod(0, old, "ready"), pod(1, old, "ready"), pod(2, old, "broken")];

describe("3541-13 a StatefulSet that is stuck on a broken pod of an older revision", () => {
  test.each<Health>(["broken", "crashing", "overdue"])("evicts a pod that is %s", (health) => {
    const pods = [pod(0, old, "ready"), pod(1, old, "ready"), pod(2, old, health)];
    expect(decide({ pods })).toMatchObject({ kind: "evict", pod: { metadata: { name: "web-2" } } });
  });

  test("evicts the lowest ordinal that is not available, because OrderedReady waits for it", () => {
    const pods = [pod(0, old, "broken"), pod(1, old, "ready"), pod(2, old, "broken")];
    expect(decide({ pods })).toMatchObject({ kind: "evict", pod: { metadata: { name: "web-0" } } });
  });

  test("evicts the first pod of a set whose first template does not work, which has no other pods", () => {
    expect(decide({ pods: [pod(0, old, "broken")] })).toMatchObject({
      kind: "evict",
      pod: { metadata: { name: "web-0" } },
    });
  });

  test("evicts the largest broken pod with Parallel", () => {
    const pods = [pod(0, old, "broken"), pod(1, old, "ready"), pod(2, old, "broken")];
    expect(decide({ pods, set: set({ policy: "Parallel" }) })).toMatchObject({
      kind: "evict",
      pod: { metadata: { name: "web-2" } },
    });
  });

  test("names the failure", () => {
    expect(decide({ pods: stuckPods })).toMatchObject({
      reason: "CreateContainerConfigError",
      because: expect.stringContaining(
        "pod web-2 of an older revision blocks the rollout: container c: CreateContainer",
      ),
    });
  });

  test.each([
    ["permanent-only", "broken", "evict"],
    ["permanent-only", "crashing", "stuck"],
    ["never", "broken", "stuck"],
    [undefined, "broken", "stuck"],
  ] as const)("with the policy %s, a pod that is %s yields %s", (policy, health, kind) => {
    const pods = [pod(0, old, "ready"), pod(1, old, "ready"), pod(2, old, health)];
    expect(decide({ pods, policy })).toMatchObject({ kind });
  });

  test("is not evicted from if the controller would create the pod from the current revision again", () => {
    const without = set({ strategy: { type: "RollingUpdate" }, currentReplicas: 3 });
    expect(decide({ pods: stuckPods, set: without })).toMatchObject({
      kind: "stuck",
      reason: "ReturnsInOldRevision",
      advice: expect.stringContaining("rollingUpdate: {partition: 0}"),
    });
    const above = set({ strategy: { type: "RollingUpdate" }, currentReplicas: 2 });
    expect(decide({ pods: stuckPods, set: above })).toMatchObject({ kind: "evict" });
  });
});

describe("3541-13 nothing is evicted", () => {
  test.each<[string, Partial<RecoveryFacts> & Pick<RecoveryFacts, "pods">]>([
    ["while all pods are available", { pods: [0, 1, 2].map((n) => pod(n, old, "ready")) }],
    [
      "before the controller has observed the change",
      { pods: stuckPods, set: set({ observedGeneration: 1 }) },
    ],
    ["with OnDelete", { pods: stuckPods, set: set({ strategy: { type: "OnDelete" } }) }],
    ["while a pod is terminating", { pods: [pod(0, old, "terminating"), ...stuckPods.slice(1)] }],
    ["while a pod below it is missing", { pods: stuckPods.slice(1) }],
    [
      "while a pod is missing with Parallel",
      { pods: [pod(0, old, "broken"), pod(1, old, "ready")], set: set({ policy: "Parallel" }) },
    ],
    ["while the pod is still starting", { pods: [...stuckPods.slice(0, 2), pod(2, old, "starting")] }],
    [
      "if the broken pod runs the update revision",
      { pods: [...stuckPods.slice(0, 2), pod(2, update, "broken")] },
    ],
    [
      "if a larger pod is broken in the update revision",
      { pods: [pod(0, old, "broken"), pod(1, old, "ready"), pod(2, update, "broken")] },
    ],
    [
      "below the partition",
      {
        pods: [pod(0, old, "broken"), pod(1, old, "ready"), pod(2, update, "ready")],
        set: set({ strategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } }),
      },
    ],
    [
      "if a smaller pod that is not broken is waited for",
      { pods: [pod(0, old, "starting"), pod(1, old, "ready"), pod(2, old, "broken")] },
    ],
  ])("%s", (_, facts) => {
    expect(decide(facts).kind).toBe("none");
  });
});

test("3541-13 never evicts a healthy, terminating or starting pod, one below a partition or one of the update revision", () => {
  const health = fc.constantFrom<Health>("ready", "broken", "crashing", "starting", "terminating", "overdue");
  const member = fc.record({ health, isUpdated: fc.boolean() });
  const facts = fc.record({
    members: fc.array(member, { minLength: 1, maxLength: 5 }),
    missing: fc.boolean(),
    partition: fc.option(fc.nat(5), { nil: undefined }),
    policy: fc.constantFrom("OrderedReady", "Parallel"),
    currentReplicas: fc.nat(5),
    start: fc.nat(2),
    unstick: fc.constantFrom("always" as const, "permanent-only" as const, "never" as const, undefined),
  });
  fc.assert(
    fc.property(facts, ({ members, missing, partition, start, unstick, ...fields }) => {
      const pods = members.map(({ health, isUpdated }, i) =>
        pod(start + i, isUpdated ? update : old, health),
      );
      const decision = decide({
        pods: missing ? pods.slice(1) : pods,
        policy: unstick,
        set: set({
          ...fields,
          start,
          replicas: members.length,
          strategy: {
            type: "RollingUpdate",
            ...(partition !== undefined && { rollingUpdate: { partition } }),
          },
        }),
      });
      if (decision.kind !== "evict") return;
      const index = pods.indexOf(decision.pod);
      const evicted = members[index];
      expect(evicted?.isUpdated).toBe(false);
      expect(["broken", "crashing", "overdue"]).toContain(evicted?.health);
      expect(index).toBeGreaterThanOrEqual(partition ?? 0);
      expect(missing).toBe(false);
      expect(members.some(({ health }) => health === "terminating")).toBe(false);
      expect(["always", "permanent-only"]).toContain(unstick);
      for (const above of members.slice(index + 1)) if (above.isUpdated) expect(above.health).toBe("ready");
    }),
    { numRuns: 2_000 },
  );
});
