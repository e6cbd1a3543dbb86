import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { defaultFeatures } from "../../api/feature-gates.ts";
import type { Pod, PodStatus } from "../../api/objects.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { silentLogger } from "../../lib/logger.ts";
import { makePodWith } from "../container/make-pod.fixture.ts";
import type { ProbeOutcome } from "../probe/handler/probe-handler.ts";
import { createTestProber, observedPod, testStartMs } from "../probe/prober.fixture.ts";
import { generatePodStatus } from "../status/generate-pod-status.ts";
import { createStatusWriter } from "../status/status-writer.ts";
import { createPodWorker, type PodWorkerDeps } from "./pod-worker.ts";

interface SetUpOptions {
  readonly pendingHooks?: readonly string[];
  /** Whether the runtime has a container of the pod that runs; unless told, it has. */
  readonly isHere?: boolean;
  readonly status?: PodStatus;
  readonly reject?: PodWorkerDeps["reject"];
  /** When somebody asked for the pod's end. */
  readonly deletionTimestamp?: string;
  /** What the API takes before a status is written. */
  readonly beforePatch?: Promise<void>;
}

/** A worker with the prober and the status writer of a kubelet, over a container that runs and a clock that stands. */
function setUp(probes: object, options: SetUpOptions = {}) {
  const { pendingHooks = [], isHere = true, status, reject, deletionTimestamp, beforePatch } = options;
  let answer = (_outcome: ProbeOutcome) => {};
  const outcome = new Promise<ProbeOutcome>((resolve) => {
    answer = resolve;
  });
  const { prober, clock } = createTestProber(() => outcome);
  const made = makePodWith(probes).pod;
  const metadata = { ...made.metadata, ...(deletionTimestamp && { deletionTimestamp }) };
  const pod: Pod = { ...made, metadata, ...(status && { status }) };
  const observed = isHere ? observedPod(pod, [{ id: "a" }]) : undefined;
  const events: string[] = [];
  const patches: { readonly atMs: number; readonly status: PodStatus }[] = [];
  let inApi: Pod = { ...pod, metadata: { ...pod.metadata, resourceVersion: "1" } };
  const writer = createStatusWriter({
    client: {
      get: async () => inApi as never,
      async patch(_resource, _key, { patch }) {
        await beforePatch;
        const body = patch.body as { status: object };
        const status = applyStrategicMergePatch("core.v1.PodStatus", { ...inApi.status }, { ...body.status });
        patches.push({ atMs: clock.now() - testStartMs, status });
        const resourceVersion = `${patches.length + 1}`;
        inApi = { ...inApi, metadata: { ...inApi.metadata, resourceVersion }, status };
        return inApi as never;
      },
    },
    clock,
    logger: silentLogger,
    features: defaultFeatures,
  });
  const hookBegun: string[] = [];
  /** The phase that the API had when the pod was taken out of it. */
  const goneAs: (string | undefined)[] = [];
  // The rest of a kubelet is not needed for a container that runs.
  const deps = {
    clock,
    logger: silentLogger,
    prober,
    writer,
    observer: { get: () => observed, refresh: async () => observed },
    recorder: { record: (_pod: Pod, { reason }: { reason: string }) => void events.push(reason) },
    volumes: { refresh: async () => {}, tearDown: async () => {} },
    notes: {
      pendingHooks: () => new Set(pendingHooks),
      hookBegins: async () => {},
      hookEnded: async () => {},
    },
    cri: {
      runtime: {
        async execSync({ containerId }: { containerId: string }) {
          hookBegun.push(containerId);
          await outcome;
          return { exitCode: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
        },
      },
    },
    specHash: () => "h",
    maxRestartDelayMs: 300_000,
    reject: reject ?? (() => undefined),
    images: { forget() {} },
    cleanUp: async () => {},
    deleteFromApi: async () => void goneAs.push(patches.at(-1)?.status.phase),
    generateStatus: (facts: Parameters<PodWorkerDeps["generateStatus"]>[0]) =>
      generatePodStatus({
        ...facts,
        features: defaultFeatures,
        runtimeName: "test",
        hostIps: ["192.0.2.1"],
      }),
  } as unknown as PodWorkerDeps;
  const worker = createPodWorker(deps, { pod, removed: false, inApi });
  prober.onChange(() => worker.noticed());
  const stop = new AbortController();
  const running = Promise.all([writer.run(stop.signal), worker.run(stop.signal).catch(() => {})]);
  return {
    patches,
    events,
    hookBegun,
    goneAs,
    clock,
    answer,
    async stop() {
      stop.abort(new Error("the test is over"));
      await running;
      prober.close();
    },
  };
}

const readyIn = ({ status }: { readonly status: PodStatus }) =>
  status.conditions?.find(({ type }) => type === "Ready")?.status;
const probe = { exec: { command: ["check"] }, periodSeconds: 10 };

test.each([
  ["a startup probe alone", { startupProbe: probe }],
  ["a readiness probe", { readinessProbe: probe }],
])("Ready is written with the first success of %s: no time passes in between", async (_name, probes) => {
  const { patches, answer, stop } = setUp(probes);
  await expect.poll(() => patches.map(readyIn)).toEqual(["False"]);
  answer({ kind: "success" });
  // The clock stands: whatever waited for a moment, however short, would wait for ever.
  await expect.poll(() => patches.map(readyIn)).toEqual(["False", "True"]);
  expect(patches.map(({ atMs }) => atMs)).toEqual([0, 0]);
  expect(patches[1]?.status.containerStatuses?.[0]).toMatchObject({ started: true, ready: true });
  await stop();
});

test("a postStart hook that a kubelet before had begun is run again, and Ready waits for it", async () => {
  const lifecycle = { postStart: { exec: { command: ["migrate"] } } };
  const { patches, hookBegun, answer, stop } = setUp({ lifecycle }, { pendingHooks: ["a"] });
  await expect.poll(() => hookBegun).toEqual(["a"]);
  await expect.poll(() => patches.map(readyIn)).toEqual(["False"]);
  answer({ kind: "success" });
  await expect.poll(() => patches.map(readyIn)).toEqual(["False", "True"]);
  expect(hookBegun).toEqual(["a"]);
  await stop();
});

const rejection = { kind: "rejected", reason: "OutOfcpu", message: "Pod was rejected: no room" } as const;

test("a pod that the node cannot take fails, and an event says why", async () => {
  const { patches, events, stop } = setUp({}, { isHere: false, reject: () => rejection });
  await expect
    .poll(() => patches.at(-1)?.status)
    .toMatchObject({ phase: "Failed", reason: "OutOfcpu", message: "Pod was rejected: no room" });
  expect(events).toEqual(["OutOfcpu"]);
  await stop();
});

test("one that has done its work is not judged again by a kubelet that starts anew", async () => {
  const finishedAt = "2026-01-01T00:00:00Z";
  const terminated = { exitCode: 0, reason: "Completed", finishedAt };
  const ended = { name: "c", image: "i", imageID: "", ready: false, restartCount: 0, state: { terminated } };
  const status: PodStatus = { phase: "Succeeded", containerStatuses: [ended] };
  const { patches, events, stop } = setUp({}, { isHere: false, status, reject: () => rejection });
  await expect.poll(() => patches.at(-1)?.status.phase).toBe("Succeeded");
  expect(patches.at(-1)?.status.containerStatuses).toMatchObject([{ state: { terminated } }]);
  expect(events).toEqual([]);
  await stop();
});

test("3085-6 a pod goes from the API only when its last status is there, however long that takes", async () => {
  let write = () => {};
  const beforePatch = new Promise<void>((resolve) => {
    write = resolve;
  });
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const { patches, goneAs, stop } = setUp({}, { isHere: false, deletionTimestamp, beforePatch });
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  write();
  await expect.poll(() => goneAs).toEqual(["Failed"]);
  expect(patches.at(-1)?.status.conditions).toContainEqual(
    expect.objectContaining({ type: "PodReadyToStartContainers", status: "False" }),
  );
  await stop();
});
