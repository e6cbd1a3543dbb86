import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defaultFeatures } from "../../api/meta/feature-gates.ts";
import type { Pod, PodStatus } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { builtInSchema } from "../../api/schema/built-in-schema.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock, type ManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "./status.fixture.ts";
import { createStatusWriter, type StatusWriter } from "./status-writer.ts";

const notFound = () => new StatusError(404, "NotFound", "gone");
const conflict = () => new StatusError(409, "Conflict", "another uid");

/** An API server with one pod. */
function createApi() {
  const api = {
    pod: makePod() as Pod | undefined,
    patches: [] as unknown[],
    gets: 0,
    /** Patches that were tried, whatever became of them. */
    tries: 0,
    /** Thrown by each call. */
    failure: undefined as Error | undefined,
    /** Thrown after the patch was applied: the response is lost. */
    lostAnswer: undefined as Error | undefined,
    /** Change that the server makes to a status before storing it. */
    change: (status: object): object => status,
    /** Patches wait for it. */
    gate: Promise.resolve(),
    client: {
      async get() {
        api.gets++;
        if (api.failure) throw api.failure;
        if (!api.pod) throw notFound();
        return api.pod as never;
      },
      async patch(_resource: string, key: { name: string }, options: { patch: { body: unknown } }) {
        await api.gate;
        api.tries++;
        if (api.failure) throw api.failure;
        const body = options.patch.body as { metadata: { uid: string }; status: object };
        api.patches.push(body.status);
        if (!api.pod) throw notFound();
        if (body.metadata.uid !== api.pod.metadata.uid || key.name !== api.pod.metadata.name)
          throw conflict();
        const status = api.change(
          applyStrategicMergePatch(
            builtInSchema,
            "core.v1.PodStatus",
            { ...api.pod.status },
            { ...body.status },
          ),
        );
        const resourceVersion = String(Number(api.pod.metadata.resourceVersion) + 1);
        api.pod = { ...api.pod, metadata: { ...api.pod.metadata, resourceVersion }, status };
        if (api.lostAnswer) throw api.lostAnswer;
        return api.pod as never;
      },
    },
  };
  return api;
}

let api: ReturnType<typeof createApi>;
let clock: ManualClock;
let writer: StatusWriter;
let stop: AbortController;
let ended: Promise<void>;
const pod = makePod();

function start(): void {
  stop = new AbortController();
  writer = createStatusWriter({
    client: api.client,
    clock,
    logger: silentLogger,
    features: defaultFeatures,
  });
  ended = writer.run(stop.signal);
}

beforeEach(() => {
  api = createApi();
  clock = createManualClock(1_000_000);
  start();
});

afterEach(async () => {
  stop.abort();
  await ended;
});

const phase = (name: string, more: PodStatus = {}): PodStatus => ({ ...pod.status, phase: name, ...more });
const settle = () => clock.advance(0);

test("sends one PATCH for all changes and none without changes", async () => {
  writer.set(pod, phase("Running", { podIP: "10.0.0.5" }));
  await settle();
  expect(api.patches).toEqual([{ phase: "Running", podIP: "10.0.0.5" }]);
  writer.set(pod, phase("Running", { podIP: "10.0.0.5" }));
  await settle();
  expect(api.patches).toHaveLength(1);
  expect(api.gets).toBe(0);
});

test("writes only the latest of several statuses in one tick", async () => {
  for (const message of ["a", "b", "c"]) writer.set(pod, phase("Pending", { message }));
  await settle();
  expect(api.patches).toEqual([{ message: "c" }]);
});

test("writes a status that is set during a write afterwards, even if it reverts it", async () => {
  let open = () => {};
  api.gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  writer.set(pod, phase("Running"));
  await settle();
  writer.set(pod, phase("Failed"));
  writer.set(pod, phase("Pending"));
  open();
  await settle();
  expect(api.patches).toEqual([{ phase: "Running" }, { phase: "Pending" }]);
  expect(api.pod?.status?.phase).toBe("Pending");
});

test("writes a change even if the given copy of the pod is outdated", async () => {
  writer.set(pod, phase("Running"));
  await settle();
  // The informer lags behind: its pod is still Pending.
  writer.set(pod, phase("Pending"));
  await settle();
  expect(api.pod?.status?.phase).toBe("Pending");
});

test("writes the status again after another writer changed it", async () => {
  writer.set(pod, phase("Running"));
  await settle();
  const touched: Pod = {
    ...pod,
    metadata: { ...pod.metadata, resourceVersion: "50" },
    status: phase("Pending"),
  };
  api.pod = touched;
  writer.set(touched, phase("Running"));
  await settle();
  expect(api.pod?.status?.phase).toBe("Running");
});

test("writes the status again after an unseen change by another writer", async () => {
  writer.set(pod, phase("Running", { podIP: "10.0.0.5" }));
  await settle();
  if (api.pod) api.pod = { ...api.pod, status: { ...api.pod.status, phase: "Pending" } };
  writer.set(pod, phase("Running", { podIP: "10.0.0.6" }));
  await settle();
  expect(api.pod?.status).toMatchObject({ phase: "Running", podIP: "10.0.0.6" });
});

test("does not resend fields that the server drops", async () => {
  api.change = ({ ...status }: PodStatus) => {
    delete status.message;
    return status;
  };
  for (const name of ["Pending", "Running", "Running"]) {
    writer.set(pod, phase(name, { message: "dropped" }));
    await clock.advance(10_000);
  }
  expect(api.patches).toEqual([{ message: "dropped" }, { phase: "Running", message: "dropped" }]);
});

test("latest returns the status that was set, or the one in the API", () => {
  expect(writer.latest(pod)).toEqual(pod.status);
  writer.set(pod, phase("Running"));
  expect(writer.latest(pod)).toEqual(phase("Running"));
});

describe("3085-8 while the API server is unreachable", () => {
  test("retries with back-off and then writes the latest status", async () => {
    api.failure = new Error("connect ECONNREFUSED");
    writer.set(pod, phase("Pending", { message: "a" }));
    await clock.advance(60_000);
    const tries = api.tries + api.gets;
    expect(tries).toBeGreaterThan(8);
    expect(tries).toBeLessThan(25);
    writer.set(pod, phase("Running", { message: "b" }));
    api.failure = undefined;
    await clock.advance(5_000);
    expect(api.patches).toEqual([{ phase: "Running", message: "b" }]);
  });

  test("does not repeat a write whose response was lost", async () => {
    api.lostAnswer = new Error("socket hang up");
    writer.set(pod, phase("Running"));
    await settle();
    api.lostAnswer = undefined;
    await clock.advance(1_000);
    expect(api.patches).toHaveLength(1);
    await writer.flushed("uid-1", AbortSignal.timeout(1_000));
  });
});

describe("the pod is gone", () => {
  test("stops writing for a deleted pod", async () => {
    api.pod = undefined;
    writer.set(pod, phase("Running"));
    await settle();
    writer.set(pod, phase("Failed"));
    await clock.advance(60_000);
    expect([api.tries, api.gets]).toEqual([1, 0]);
    await writer.flushed("uid-1", AbortSignal.timeout(1_000));
  });

  test("does not write to a new pod of the same name", async () => {
    api.pod = makePod({ metadata: { uid: "uid-2" } });
    writer.set(pod, phase("Running"));
    await clock.advance(60_000);
    expect([api.tries, api.gets]).toEqual([1, 1]);
    expect(api.pod.status?.phase).toBe("Pending");
  });
});

describe("3085-9 a pod that changes continuously", () => {
  test("allows a burst, then one write a second, and writes the last state", async () => {
    for (let i = 1; i <= 600; i++) {
      writer.set(pod, phase("Running", { message: `flap ${i}` }));
      await clock.advance(100);
    }
    expect(api.patches.length).toBeLessThanOrEqual(70);
    await clock.advance(2_000);
    expect(api.pod?.status?.message).toBe("flap 600");
  });
});

describe("flushed", () => {
  test("waits for the latest status", async () => {
    api.failure = new Error("away");
    writer.set(pod, phase("Failed"));
    let done = false;
    const flushed = writer.flushed("uid-1", stop.signal).then(() => {
      done = true;
    });
    await clock.advance(10_000);
    expect(done).toBe(false);
    api.failure = undefined;
    await clock.advance(5_000);
    await flushed;
    expect(api.pod?.status?.phase).toBe("Failed");
  });

  test("resolves without a pending status", async () => {
    await writer.flushed("nobody", stop.signal);
    writer.set(pod, { ...pod.status });
    await writer.flushed("uid-1", stop.signal);
  });

  test("rejects when its signal aborts", async () => {
    api.failure = new Error("away");
    writer.set(pod, phase("Failed"));
    const giveUp = new AbortController();
    const flushed = writer.flushed("uid-1", giveUp.signal);
    giveUp.abort(new Error("enough"));
    await expect(flushed).rejects.toThrow("enough");
  });

  test("resolves when the pod is forgotten, which stops its writes", async () => {
    api.failure = new Error("away");
    writer.set(pod, phase("Failed"));
    await settle();
    const flushed = writer.flushed("uid-1", stop.signal);
    writer.forget("uid-1");
    await flushed;
    api.failure = undefined;
    await clock.advance(60_000);
    expect(api.patches).toEqual([]);
  });
});

test("writes a status that was set before the writer runs", async () => {
  stop.abort();
  await ended;
  const early = createStatusWriter({
    client: api.client,
    clock,
    logger: silentLogger,
    features: defaultFeatures,
  });
  early.set(pod, phase("Running"));
  await settle();
  expect(api.patches).toEqual([]);
  stop = new AbortController();
  ended = early.run(stop.signal);
  await settle();
  expect(api.patches).toHaveLength(1);
});
