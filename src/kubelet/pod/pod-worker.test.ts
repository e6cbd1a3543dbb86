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

/** A worker with the prober and the status writer of a kubelet, over a container that runs and a clock that stands. */
function setUp(probes: object, pendingHooks: readonly string[] = []) {
  let answer = (_outcome: ProbeOutcome) => {};
  const outcome = new Promise<ProbeOutcome>((resolve) => {
    answer = resolve;
  });
  const { prober, clock } = createTestProber(() => outcome);
  const { pod } = makePodWith(probes);
  const observed = observedPod(pod, [{ id: "a" }]);
  const patches: { readonly atMs: number; readonly status: PodStatus }[] = [];
  let inApi: Pod = { ...pod, metadata: { ...pod.metadata, resourceVersion: "1" } };
  const writer = createStatusWriter({
    client: {
      get: async () => inApi as never,
      async patch(_resource, _key, { patch }) {
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
  // The rest of a kubelet is not needed for a container that runs.
  const deps = {
    clock,
    logger: silentLogger,
    prober,
    writer,
    observer: { get: () => observed, refresh: async () => observed },
    recorder: { record: () => {} },
    volumes: { takeOver: async () => {} },
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
    reject: () => undefined,
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
    hookBegun,
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
  const { patches, hookBegun, answer, stop } = setUp({ lifecycle }, ["a"]);
  await expect.poll(() => hookBegun).toEqual(["a"]);
  await expect.poll(() => patches.map(readyIn)).toEqual(["False"]);
  answer({ kind: "success" });
  await expect.poll(() => patches.map(readyIn)).toEqual(["False", "True"]);
  expect(hookBegun).toEqual(["a"]);
  await stop();
});
