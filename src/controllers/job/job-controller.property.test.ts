import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../test/support/fuzz/rounds.ts";
import { isTrue } from "../../api/meta/object-facts.ts";
import type { JobSpec, Pod } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { Crash, createSimulatedApi, type SimulatedViews } from "../shared/simulated-api.fixture.ts";
import { jobOf, now } from "./job.fixture.ts";
import { jobController } from "./job-controller.ts";
import { hasTrackingFinalizer, indexOf } from "./job-facts.ts";

type NodeAction = "run" | "succeed" | "fail";
type Step =
  /** A sync that crashes at a call, or completes. */
  | { readonly kind: "sync"; readonly crashAtCall: number | undefined }
  | { readonly kind: "deliver"; readonly resource: "jobs" | "pods"; readonly changes: number }
  | { readonly kind: "node"; readonly pod: number; readonly does: NodeAction }
  /** Together less than five minutes, after which a controller no longer waits for an informer. */
  | { readonly kind: "wait"; readonly seconds: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("sync" as const),
      crashAtCall: fc.option(fc.nat(14), { nil: undefined }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("deliver" as const),
      resource: fc.constantFrom("jobs" as const, "pods" as const),
      changes: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("node" as const),
      pod: fc.nat(5),
      does: fc.constantFrom<NodeAction[]>("run", "succeed", "fail"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 4 }) }),
  },
);

const shape: fc.Arbitrary<Partial<JobSpec>> = fc
  .record({
    mode: fc.constantFrom("NonIndexed", "Indexed", "perIndex"),
    completions: fc.integer({ min: 1, max: 4 }),
    parallelism: fc.integer({ min: 1, max: 4 }),
    backoffLimit: fc.constantFrom(0, 2, 100),
    podReplacementPolicy: fc.constantFrom("Failed", "TerminatingOrFailed"),
  })
  .map(({ mode, ...spec }) => ({
    ...spec,
    completionMode: mode === "NonIndexed" ? mode : "Indexed",
    ...(mode === "perIndex" && { backoffLimitPerIndex: 1, backoffLimit: 2 ** 31 - 1 }),
  }));

/** A Job, its controller, and a node that runs its pods. */
function createWorld(spec: Partial<JobSpec>) {
  const api = createSimulatedApi();
  const clock = createManualClock(now);
  api.put("jobs", jobOf(spec));
  /** What each pod was when it ended, by uid. */
  const ended = new Map<string, string>();
  let views: SimulatedViews;
  let controller: ReturnType<typeof jobController>;
  let calls = 0;
  let crashAtCall: number | undefined;

  function restart(): void {
    views = api.openViews(() => 0);
    const onCall = () => {
      if (calls++ === crashAtCall) throw new Crash();
    };
    const context = {
      client: api.client(onCall),
      clock,
      informers: views.informers,
      recorder: () => ({ record() {} }),
    };
    controller = jobController(context, new AbortController().signal);
    controller.watch({ add() {} });
  }

  async function sync(crashAt?: number): Promise<void> {
    calls = 0;
    crashAtCall = crashAt;
    try {
      await controller.reconcile("default/job");
    } catch (error) {
      const why = error instanceof Error ? (error.cause ?? error) : error;
      if (!(why instanceof Crash) && !(why instanceof StatusError)) throw error;
    }
    if (crashAt !== undefined && calls > crashAt) restart();
  }

  function end(pod: Pod, phase: string): void {
    if (hasEnded(pod)) return;
    ended.set(pod.metadata.uid ?? "", phase);
    const terminated = {
      exitCode: phase === "Failed" ? 1 : 0,
      finishedAt: new Date(clock.now()).toISOString(),
    };
    const status = { phase, containerStatuses: [{ name: "c", state: { terminated } }] };
    api.put("pods", { ...pod, status } as Pod);
    if (pod.metadata.deletionTimestamp && !hasTrackingFinalizer(pod))
      api.remove("pods", `default/${pod.metadata.name}`);
  }

  function node(pod: Pod | undefined, does: NodeAction): void {
    if (!pod || hasEnded(pod)) return;
    if (does === "run") api.put("pods", { ...pod, status: { phase: "Running" } } as Pod);
    else end(pod, does === "succeed" ? "Succeeded" : "Failed");
  }

  restart();
  return {
    api,
    ended,
    async take(taken: Step): Promise<void> {
      switch (taken.kind) {
        case "sync":
          return sync(taken.crashAtCall);
        case "deliver":
          return void views.deliver(taken.resource, taken.changes);
        case "node":
          return node(api.list("pods")[taken.pod], taken.does);
        case "wait":
          return clock.advance(taken.seconds * 1_000);
      }
    },
    /** Runs without faults until the Job has finished: deleted pods end, the others succeed. */
    async settle(): Promise<void> {
      for (let round = 0; round < 40; round++) {
        for (const pod of api.list("pods")) end(pod, pod.metadata.deletionTimestamp ? "Failed" : "Succeeded");
        for (const resource of ["jobs", "pods"] as const) views.deliver(resource, Number.POSITIVE_INFINITY);
        await sync();
        await clock.advance(600_000);
      }
    },
  };
}

test("counts every pod exactly once, over crashes between any two calls and lagging informers", async () => {
  await fc.assert(
    fc.asyncProperty(shape, fc.array(step, { maxLength: 60 }), async (spec, steps) => {
      const world = createWorld(spec);
      for (const taken of steps) await world.take(taken);
      await world.settle();
      const job = world.api.get("jobs", "default/job");
      const { status = {} } = job ?? {};
      expect(job && (isTrue(job, "Complete") || isTrue(job, "Failed"))).toBe(true);
      const count = (phase: string) => [...world.ended.values()].filter((ended) => ended === phase).length;
      const pods = world.api.list("pods");
      expect(pods.filter(hasTrackingFinalizer)).toEqual([]);
      expect(status.uncountedTerminatedPods).toEqual({});
      expect(status.failed ?? 0).toBe(count("Failed"));
      // An index succeeds once; a Job without indexes counts pods.
      expect(status.succeeded ?? 0).toBe(count("Succeeded"));
      if (spec.completionMode === "Indexed") {
        const succeeded = pods
          .filter(({ status: podStatus }) => podStatus?.phase === "Succeeded")
          .map(indexOf);
        expect(new Set(succeeded).size).toBe(succeeded.length);
      }
      // Never more pods than needed.
      expect(status.succeeded ?? 0).toBeLessThanOrEqual(spec.completions ?? 0);
      if (isTrue(job ?? jobOf(), "Complete")) expect(status.succeeded).toBe(spec.completions);
    }),
    { numRuns: rounds(100) },
  );
}, 60_000);
