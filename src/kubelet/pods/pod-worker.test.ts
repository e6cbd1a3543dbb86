import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { defaultFeatures } from "../../api/meta/feature-gates.ts";
import type { Pod, PodStatus } from "../../api/meta/objects.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { builtInSchema } from "../../api/schema/built-in-schema.ts";
import { silentLogger } from "../../lib/logger.ts";
import { makePodWith } from "../containers/make-pod.fixture.ts";
import { hashContainer } from "../model/cri-labels.ts";
import { createTestProber, observedPod, testStartMs } from "../model/prober.fixture.ts";
import type { ProbeOutcome } from "../probes/handler/probe-handler.ts";
import { createStatusWriter } from "../status/status-writer.ts";
import { createPodWorker, type PodWorkerDeps } from "./pod-worker.ts";

interface SetUpOptions {
  readonly pendingHooks?: readonly string[];
  /** Whether the postStart hook runs until it is aborted. Defaults to false. */
  readonly hookHangs?: boolean;
  /** Whether the runtime has a running container of the pod. Defaults to true. */
  readonly isHere?: boolean;
  readonly status?: PodStatus;
  readonly reject?: PodWorkerDeps["reject"];
  readonly hasPredecessor?: PodWorkerDeps["hasPredecessor"];
  /** Deletion timestamp of the pod. */
  readonly deletionTimestamp?: string;
  /** Called before a status is written. */
  readonly beforePatch?: Promise<void>;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Worker with a real prober and status writer, a running container and a manual clock. */
function setUp(probes: object, options: SetUpOptions = {}) {
  const { pendingHooks = [], hookHangs = false, isHere = true, status, reject } = options;
  const { deletionTimestamp, beforePatch, hasPredecessor = () => false } = options;
  let answer = (_outcome: ProbeOutcome) => {};
  const outcome = new Promise<ProbeOutcome>((resolve) => {
    answer = resolve;
  });
  const { prober, clock } = createTestProber(() => outcome);
  const { pod: made, container } = makePodWith(probes);
  const metadata = { ...made.metadata, ...(deletionTimestamp && { deletionTimestamp }) };
  const pod: Pod = { ...made, metadata, ...(status && { status }) };
  const observed = isHere ? observedPod(pod, [{ id: "a", specHash: hashContainer(container) }]) : undefined;
  const events: string[] = [];
  const patches: { readonly atMs: number; readonly status: PodStatus }[] = [];
  let inApi: Pod = { ...pod, metadata: { ...pod.metadata, resourceVersion: "1" } };
  const writer = createStatusWriter({
    client: {
      get: async () => inApi as never,
      async patch(_resource, _key, { patch }) {
        await beforePatch;
        const body = patch.body as { status: object };
        const status = applyStrategicMergePatch(
          builtInSchema,
          "core.v1.PodStatus",
          { ...inApi.status },
          { ...body.status },
        );
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
  const stopped: string[] = [];
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
    checkpoints: {
      pendingHooks: () => new Set(pendingHooks),
      hookBegins: async () => {},
      hookEnded: async () => {},
    },
    cri: {
      runtime: {
        async execSync({ containerId }: { containerId: string }, { signal }: { signal: AbortSignal }) {
          hookBegun.push(containerId);
          if (hookHangs) await aborted(signal);
          await outcome;
          return { exitCode: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
        },
        async stopContainer({ containerId }: { containerId: string }, { signal }: { signal: AbortSignal }) {
          stopped.push(containerId);
          await aborted(signal);
        },
      },
    },
    maxRestartDelayMs: 300_000,
    reject: reject ?? (async () => undefined),
    hasPredecessor,
    images: { forget() {} },
    cleanUpPod: async () => {},
    deleteFromApi: async () => void goneAs.push(patches.at(-1)?.status.phase),
    features: defaultFeatures,
    runtimeName: "test",
    node: () => ({ hostIps: ["192.0.2.1"], runtimeHandlers: [] }),
    findRuntimeClass: () => undefined,
  } as unknown as PodWorkerDeps;
  const worker = createPodWorker(deps, { pod, removed: false, inApi });
  prober.onChange(() => worker.onStateChanged());
  const stop = new AbortController();
  const running = Promise.all([writer.run(stop.signal), worker.run(stop.signal).catch(() => {})]);
  return {
    worker,
    patches,
    events,
    hookBegun,
    stopped,
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
])("writes Ready immediately after the first success of %s", async (_name, probes) => {
  const { patches, answer, stop } = setUp(probes);
  await expect.poll(() => patches.map(readyIn)).toEqual(["False"]);
  answer({ kind: "success" });
  // The clock stands: whatever waited for a moment, however short, would wait for ever.
  await expect.poll(() => patches.map(readyIn)).toEqual(["False", "True"]);
  expect(patches.map(({ atMs }) => atMs)).toEqual([0, 0]);
  expect(patches[1]?.status.containerStatuses?.[0]).toMatchObject({ started: true, ready: true });
  await stop();
});

test("runs a pending postStart hook of a previous kubelet again before the pod is Ready", async () => {
  const lifecycle = { postStart: { exec: { command: ["migrate"] } } };
  const { patches, hookBegun, answer, stop } = setUp({ lifecycle }, { pendingHooks: ["a"] });
  await expect.poll(() => hookBegun).toEqual(["a"]);
  await expect.poll(() => patches.map(readyIn)).toEqual(["False"]);
  answer({ kind: "success" });
  await expect.poll(() => patches.map(readyIn)).toEqual(["False", "True"]);
  expect(hookBegun).toEqual(["a"]);
  await stop();
});

test("950-9 kills a container whose startup probe fails while its postStart hook runs", async () => {
  const lifecycle = { postStart: { exec: { command: ["migrate"] } } };
  const startupProbe = { ...probe, failureThreshold: 1 };
  const { events, hookBegun, stopped, answer, stop } = setUp(
    { lifecycle, startupProbe },
    { pendingHooks: ["a"], hookHangs: true },
  );
  await expect.poll(() => hookBegun).toEqual(["a"]);
  expect(stopped).toEqual([]);
  answer({ kind: "failure", output: "not yet" });
  await expect.poll(() => stopped).toEqual(["a"]);
  expect(events).toEqual(["Killing"]);
  expect(hookBegun).toEqual(["a"]);
  await stop();
});

const rejection = { kind: "rejected", reason: "OutOfcpu", message: "Pod was rejected: no room" } as const;

test("a rejected pod fails with an event", async () => {
  const { patches, events, stop } = setUp({}, { isHere: false, reject: async () => rejection });
  await expect
    .poll(() => patches.at(-1)?.status)
    .toMatchObject({ phase: "Failed", reason: "OutOfcpu", message: "Pod was rejected: no room" });
  expect(events).toEqual(["OutOfcpu"]);
  await stop();
});

test("a pod starts when the earlier pod of its name has ended, with one event", async () => {
  let isThere = true;
  const checks: string[] = [];
  const reject = async () => {
    checks.push(isThere ? "too early" : "accepted");
    return rejection;
  };
  const { events, worker, stop } = setUp({}, { isHere: false, reject, hasPredecessor: () => isThere });
  await expect.poll(() => events).toEqual(["PreviousPodTerminating"]);
  worker.onStateChanged();
  await new Promise(setImmediate);
  expect([events, checks]).toEqual([["PreviousPodTerminating"], []]);
  isThere = false;
  worker.onStateChanged();
  await expect.poll(() => checks).toEqual(["accepted"]);
  await stop();
});

test("a restarted kubelet does not reject a completed pod", async () => {
  const finishedAt = "2026-01-01T00:00:00Z";
  const terminated = { exitCode: 0, reason: "Completed", finishedAt };
  const ended = { name: "c", image: "i", imageID: "", ready: false, restartCount: 0, state: { terminated } };
  const status: PodStatus = { phase: "Succeeded", containerStatuses: [ended] };
  const { patches, events, stop } = setUp({}, { isHere: false, status, reject: async () => rejection });
  await expect.poll(() => patches.at(-1)?.status.phase).toBe("Succeeded");
  expect(patches.at(-1)?.status.containerStatuses).toMatchObject([{ state: { terminated } }]);
  expect(events).toEqual([]);
  await stop();
});

test("3085-6 deletes a pod from the API only after its final status is written", async () => {
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
