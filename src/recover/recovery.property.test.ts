import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../test/support/fuzz/rounds.ts";
import { decideRecovery } from "./decide-recovery.ts";
import { type Health, makeRecoveryPod, makeRecoverySet, recoveryNow } from "./recovery.fixture.ts";

/** A pod of the model. `isHealthy` says what becomes of it: its template works, or never does. */
interface Member {
  readonly revision: number;
  readonly isHealthy: boolean;
  readonly health: Health;
}

interface Shape {
  readonly replicas: number;
  readonly policy: "OrderedReady" | "Parallel";
  /** Undefined: the spec has no rollingUpdate. */
  readonly partition: number | undefined;
  /** With the gate MaxUnavailableStatefulSet, Parallel counts unavailable pods too. */
  readonly countsUnavailable: boolean;
  /** Whether the first template works. */
  readonly firstWorks: boolean;
}

type Step =
  | { readonly kind: "template"; readonly works: boolean }
  | { readonly kind: "controller" }
  | { readonly kind: "kubelet"; readonly ordinal: number }
  | { readonly kind: "recover" };

/** Model of a StatefulSet under upstream's controller, kubelets, a user and recover. */
function createModel({ replicas, policy, partition, countsUnavailable, firstWorks }: Shape) {
  const pods: (Member | undefined)[] = Array.from({ length: replicas }, () => undefined);
  /** Whether the template of each revision works. */
  const works = [firstWorks];
  let current = 0;
  const evictions: { readonly ordinal: number; readonly revision: number; readonly member: Member }[] = [];
  const update = () => works.length - 1;
  /** In the status, as of the last sync of the controller. */
  let currentReplicas = 0;

  /** Revision of a new pod, by upstream's rules. */
  function revisionFor(ordinal: number): number {
    const isOld = partition === undefined ? ordinal < currentReplicas : ordinal < partition;
    return isOld ? current : update();
  }

  function control(): void {
    syncPods();
    currentReplicas = pods.filter((pod) => pod?.revision === current).length;
  }

  function syncPods(): void {
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const pod = pods[ordinal];
      if (!pod) {
        const revision = revisionFor(ordinal);
        pods[ordinal] = { revision, isHealthy: works[revision] ?? true, health: "starting" };
      }
      if (policy === "OrderedReady" && pods[ordinal]?.health !== "ready") return;
    }
    const unavailable = pods.filter((pod) => pod?.health !== "ready").length;
    if (unavailable > 0 && (policy === "OrderedReady" || countsUnavailable)) return;
    for (let ordinal = replicas - 1; ordinal >= (partition ?? 0); ordinal--) {
      const pod = pods[ordinal];
      if (!pod || pod.health === "terminating") return;
      if (pod.revision !== update()) {
        pods[ordinal] = { ...pod, health: "terminating" };
        return;
      }
      if (pod.health !== "ready") return;
    }
    if (pods.every((pod) => pod?.revision === update() && pod.health === "ready")) current = update();
  }

  function recover(): void {
    const members = pods.flatMap((pod, ordinal) => (pod ? [{ pod, ordinal }] : []));
    const objects = members.map(({ pod, ordinal }) =>
      makeRecoveryPod(ordinal, `r${pod.revision}`, pod.health),
    );
    const decision = decideRecovery({
      set: makeRecoverySet({
        replicas,
        policy,
        currentReplicas,
        updateRevision: `r${update()}`,
        strategy: {
          type: "RollingUpdate",
          ...(partition !== undefined && { rollingUpdate: { partition } }),
        },
      }),
      pods: objects,
      policy: "always",
      now: recoveryNow,
    });
    if (decision.kind !== "evict") return;
    const evicted = members[objects.indexOf(decision.pod)];
    if (!evicted) throw new Error("the decision names a pod that was not given");
    // One at a time. OrderedReady creates no pod above the one that it waits for.
    const created = policy === "Parallel" ? pods : pods.slice(0, evicted.ordinal);
    expect(created).not.toContain(undefined);
    expect(pods.some((pod) => pod?.health === "terminating")).toBe(false);
    evictions.push({ ordinal: evicted.ordinal, revision: update(), member: evicted.pod });
    pods[evicted.ordinal] = { ...evicted.pod, health: "terminating" };
  }

  return {
    pods,
    evictions,
    update,
    take(step: Step): void {
      switch (step.kind) {
        case "template":
          works.push(step.works);
          break;
        case "controller":
          control();
          break;
        case "kubelet": {
          const pod = pods[step.ordinal];
          if (!pod) break;
          if (pod.health === "terminating") pods[step.ordinal] = undefined;
          else pods[step.ordinal] = { ...pod, health: pod.isHealthy ? "ready" : "broken" };
          break;
        }
        case "recover":
          recover();
          break;
      }
    },
  };
}

const shape = fc.record<Shape>({
  replicas: fc.integer({ min: 1, max: 4 }),
  policy: fc.constantFrom("OrderedReady", "Parallel"),
  partition: fc.option(fc.nat(3), { nil: undefined }),
  countsUnavailable: fc.boolean(),
  firstWorks: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("template" as const), works: fc.boolean() }) },
  { weight: 4, arbitrary: fc.constant({ kind: "controller" as const }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("kubelet" as const), ordinal: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.constant({ kind: "recover" as const }) },
);

test("3541-13 recover never evicts a healthy pod, two at once, below a partition, or in a loop", () => {
  let count = 0;
  fc.assert(
    fc.property(shape, fc.array(step, { maxLength: 120, size: "max" }), (shape, steps) => {
      const model = createModel(shape);
      for (const step of steps) model.take(step);
      const seen = new Set<string>();
      for (const { ordinal, revision, member } of model.evictions) {
        count++;
        expect(member.health).toBe("broken");
        expect(member.revision).toBeLessThan(revision);
        expect(ordinal).toBeGreaterThanOrEqual(shape.partition ?? 0);
        const key = `${ordinal} for ${revision}`;
        expect(seen.has(key), `ordinal ${key} is evicted twice`).toBe(false);
        seen.add(key);
      }
    }),
    { numRuns: rounds(2_000) },
  );
  expect(count).toBeGreaterThan(100);
});

test("3541-13 a stuck set reaches the update revision once its template works", () => {
  fc.assert(
    fc.property(shape, fc.array(step, { maxLength: 60, size: "max" }), (shape, steps) => {
      const partition = shape.partition ?? 0;
      const model = createModel({ ...shape, partition });
      for (const step of steps) model.take(step);
      model.take({ kind: "template", works: true });
      for (let round = 0; round < 40; round++) {
        for (let ordinal = 0; ordinal < shape.replicas; ordinal++) model.take({ kind: "kubelet", ordinal });
        model.take({ kind: "controller" });
        model.take({ kind: "recover" });
      }
      // A pod below the partition that never works is not recover's to resolve.
      const isBlocked = model.pods.some((pod, ordinal) => ordinal < partition && pod?.health !== "ready");
      if (isBlocked) return;
      for (const pod of model.pods.slice(partition))
        expect(pod).toMatchObject({ revision: model.update(), health: "ready" });
    }),
    { numRuns: rounds(1_000) },
  );
});
