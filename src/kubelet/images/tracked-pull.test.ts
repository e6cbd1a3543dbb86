import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { criErrorText } from "../../cri/error-text.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { defaultKubeletConfiguration } from "../config/kubelet-configuration.ts";
import { gib, settle, setUpPuller } from "./image-puller.fixture.ts";
import { createPullBackoff, explainPullFailure, joinErrors } from "./tracked-pull.ts";

const reports = Array.from({ length: 70 }, (_, i) => ({
  atMs: (i + 1) * 1_000,
  offset: Math.floor(((i + 1) / 70) * 4 * gib),
  total: 4 * gib,
}));
const progressEvents = (events: readonly string[]) =>
  events.filter((event) => event.includes("Container image"));

test("3542-6 records events at the interval only", async () => {
  const { ensure, events, clock, withProgress } = setUpPuller({ reports });
  const pulling = ensure();
  await clock.advance(70_000);
  await pulling;
  expect(events).toEqual([
    'Normal Pulling Pulling image "app" spec.containers{web}',
    "Normal Pulling Pulling Container image app: 1.7Gi of 4Gi spec.containers{web}",
    "Normal Pulling Pulling Container image app: 3.4Gi of 4Gi spec.containers{web}",
    'Normal Pulled Successfully pulled image "app" in 1m10s (1m10s including waiting). Image size: 0 bytes. spec.containers{web}',
  ]);
  expect(withProgress[0]).toMatchObject({
    granularityType: 1,
    interval: { value: 1n },
    noProgressTimeout: { value: 10 },
    request: { noProgressTimeout: { value: 10 } },
    verbosity: true,
  });
});

test("3542-6 a pull that ends before the rate limit allows an event does not wait and records none", async () => {
  const { ensure, events, clock } = setUpPuller({ reports: reports.slice(0, 30) });
  const pulling = ensure();
  await clock.advance(30_000);
  await pulling;
  await clock.advance(60_000);
  expect(clock.sleeping()).toBe(0);
  expect(events).toEqual([
    'Normal Pulling Pulling image "app" spec.containers{web}',
    'Normal Pulled Successfully pulled image "app" in 30s (30s including waiting). Image size: 0 bytes. spec.containers{web}',
  ]);
});

test("3542-11 nodes that pull at the same time record events within a second, each at its own phase", async () => {
  const lastEventAt = await Promise.all(
    ["node-1", "node-2", "node-3"].map(async (nodeName) => {
      const times: number[] = [];
      const record = (_about: unknown, { message }: { message: string }) => {
        if (message.includes("Container image")) times.push(clock.now() - Date.parse("2030-01-01"));
      };
      const { ensure, clock } = setUpPuller({ reports }, { nodeName, recorder: { record } });
      const pulling = ensure();
      await clock.advance(70_000);
      await pulling;
      return times;
    }),
  );
  expect(lastEventAt).toEqual([
    [30_526, 60_526],
    [30_703, 60_703],
    [30_186, 60_186],
  ]);
});

test("3542-6 records events by size", async () => {
  const config = {
    ...defaultKubeletConfiguration,
    imagePullProgress: { kind: "size", intervalBytes: gib },
  } as const;
  const { ensure, events, clock } = setUpPuller({ reports }, { config });
  const pulling = ensure();
  await clock.advance(70_000);
  await pulling;
  expect(progressEvents(events).map((event) => /: (.*) spec/.exec(event)?.[1])).toEqual([
    "1Gi of 4Gi",
    "2.1Gi of 4Gi",
    "3.1Gi of 4Gi",
  ]);
});

test("3542-11 a node records one progress event a second for all concurrent pulls, in turn", async () => {
  const minutes = Array.from({ length: 180 }, (_, i) => ({
    atMs: (i + 1) * 1_000,
    offset: i + 1,
    total: 4 * gib,
  }));
  const recorded: { atMs: number; image: string | undefined }[] = [];
  const { ensure, clock } = setUpPuller(
    { reports: minutes },
    {
      config: { ...defaultKubeletConfiguration, serializeImagePulls: false },
      recorder: {
        record: (_about, { message }) => {
          const image = /^Pulling Container image (\S+):/.exec(message)?.[1];
          if (image) recorded.push({ atMs: clock.now(), image });
        },
      },
    },
  );
  const images = Array.from({ length: 60 }, (_, i) => `app-${i}`);
  const pulling = images.map((image) => ensure({ image }));
  await clock.advance(179_000);
  const gaps = recorded.slice(1).map(({ atMs }, i) => atMs - (recorded[i]?.atMs ?? 0));
  expect(Math.min(...gaps)).toBe(1_000);
  expect(recorded.length).toBeGreaterThan(140);
  const turns = images.map((image) => recorded.filter((each) => each.image === image).length);
  expect(Math.min(...turns)).toBeGreaterThanOrEqual(2);
  await clock.advance(2_000);
  await Promise.all(pulling);
});

test("3542-5 none: requests no reports from the runtime, with the timeout", async () => {
  const config = { ...defaultKubeletConfiguration, imagePullProgress: { kind: "none" } } as const;
  const { ensure, withProgress } = setUpPuller({}, { config });
  await ensure();
  expect(withProgress[0]).toMatchObject({
    granularityType: 2,
    interval: undefined,
    noProgressTimeout: { value: 10 },
  });
});

test("serves the current progress", async () => {
  const { ensure, puller, clock } = setUpPuller({ reports });
  const stop = new AbortController();
  const offsets: number[] = [];
  const following = (async () => {
    for await (const [pull] of puller.followProgress("uid-1", stop.signal)) offsets.push(pull?.offset ?? -1);
  })();
  const pulling = ensure();
  await clock.advance(2_000);
  const offset = reports[1]?.offset ?? 0;
  expect(puller.progress("uid-1")).toEqual([
    {
      image: "app",
      container: "web",
      startedAt: "2030-01-01T00:00:00.000Z",
      offset: offset,
      total: 4 * gib,
      layers: [{ digest: "sha256:l", offset: offset, total: 0, stage: "downloading" }],
    },
  ]);
  await clock.advance(68_000);
  await pulling;
  await settle();
  stop.abort();
  await following;
  expect(offsets[0]).toBe(-1);
  expect(offsets.at(-1)).toBe(-1);
  expect(offsets.length).toBeGreaterThan(70);
});

test("3542-14 counts the received bytes by registry", async () => {
  const metrics = createMetrics();
  const { ensure, clock } = setUpPuller({ reports }, { metrics });
  const pulling = ensure({ image: "r.example.com/app" });
  await clock.advance(70_000);
  await pulling;
  expect(metrics.text()).toContain(
    `kindling_node_image_pull_received_bytes_total{registry="r.example.com"} ${4 * gib}\n`,
  );
});

test("3542-7 falls back to PullImage for a runtime without the call, and warns once", async () => {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) };
  const { puller, ensure, events, plain, withProgress } = setUpPuller({ hasProgress: false }, { logger });
  expect(puller.progressSupport()).toBe("unknown");
  await Promise.all([ensure(), ensure()]);
  await ensure();
  expect(withProgress).toHaveLength(2);
  expect(plain).toHaveLength(3);
  expect(plain[0]).toMatchObject({ noProgressTimeout: { value: 10 } });
  const message =
    "the container runtime does not implement PullImageWithProgress: progress and no-progress timeout of image pulls are not available on this node";
  expect(warnings).toEqual([message]);
  expect(events.filter((event) => event.includes("PullImageWithProgress"))).toEqual([
    `Warning PullImageWithProgressNotImplemented ${message} spec.containers{web}`,
  ]);
  expect(puller.progressSupport()).toBe("unavailable");
  expect(progressEvents(events)).toEqual([]);
});

test("3542-7 knows after a pull with progress that the runtime supports it", async () => {
  const { puller, ensure } = setUpPuller({});
  await ensure();
  expect(puller.progressSupport()).toBe("available");
  expect(setUpPuller({}, { features: { ImagePullProgress: false } }).puller.progressSupport()).toBe(
    "disabled",
  );
});

test("3542-12 gate disabled: PullImage without a timeout and without progress", async () => {
  const { ensure, events, plain, withProgress } = setUpPuller(
    { reports },
    { features: { ImagePullProgress: false } },
  );
  await ensure();
  expect(withProgress).toHaveLength(0);
  expect(plain).toMatchObject([{ noProgressTimeout: undefined }]);
  expect(progressEvents(events)).toEqual([]);
});

test.each([
  ["not found", { reason: "ErrImagePull", message: "not found" }],
  [
    "RegistryUnavailable: dial tcp: timeout",
    {
      reason: "RegistryUnavailable",
      message: "image pull failed for app because the registry is unavailable: dial tcp: timeout",
    },
  ],
  [
    "SignatureValidationFailed",
    {
      reason: "SignatureValidationFailed",
      message: "image pull failed for app because the signature validation failed",
    },
  ],
  ["x RegistryUnavailable", { reason: "ErrImagePull", message: "x RegistryUnavailable" }],
])("explains %s", (error, failure) => {
  expect(explainPullFailure("app", error)).toEqual(failure);
});

const grpc = (code: status, details: string) => Object.assign(new Error("x"), { code, details });
test.each([
  [grpc(status.NOT_FOUND, "no such image"), "rpc error: code = NotFound desc = no such image"],
  [grpc(status.DEADLINE_EXCEEDED, "no progress"), "rpc error: code = DeadlineExceeded desc = no progress"],
  [grpc(status.UNAUTHENTICATED, "who?"), "rpc error: code = Unauthenticated desc = who?"],
  [grpc(status.UNKNOWN, "RegistryUnavailable: x"), "RegistryUnavailable: x"],
  [new Error("plain"), "plain"],
  ["text", "text"],
])("formats error %#", (error, text) => {
  expect(criErrorText(error)).toBe(text);
});

test.each([
  [["a"], "a"],
  [["a", "a"], "a"],
  [["a", "b", "a"], "[a, b]"],
])("joins %j", (errors, text) => {
  expect(joinErrors(errors)).toBe(text);
});

const second = 1_000;
/** Fails a pull at `now` and returns the back-off in seconds. */
function waitAfter(backoff: ReturnType<typeof createPullBackoff>, now: number): number {
  backoff.failed("pod", "app", { startedAt: now, now, error: "e" });
  let seconds = 0;
  while (backoff.waiting("pod", "app", now + seconds * second) !== undefined) seconds++;
  return seconds;
}

test("backs off for 10 s, doubled by each failure, up to 300 s", () => {
  const backoff = createPullBackoff();
  let now = 0;
  const waits: number[] = [];
  for (let i = 0; i < 7; i++) {
    const wait = waitAfter(backoff, now);
    waits.push(wait);
    now += wait * second;
  }
  expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
});

test("resets after ten minutes without a failure, and for a deleted pod", () => {
  const backoff = createPullBackoff();
  waitAfter(backoff, 0);
  expect(waitAfter(backoff, 600 * second)).toBe(20);
  expect(waitAfter(backoff, 1_201 * second)).toBe(10);
  backoff.forget("pod");
  expect(waitAfter(backoff, 1_202 * second)).toBe(10);
});

test("concurrent pulls of one image count as one failure", () => {
  const backoff = createPullBackoff();
  backoff.failed("pod", "app", { startedAt: 0, now: 5 * second, error: "first" });
  backoff.failed("pod", "app", { startedAt: 1 * second, now: 6 * second, error: "second" });
  expect(backoff.waiting("pod", "app", 14 * second)).toBe("second");
  expect(backoff.waiting("pod", "app", 15 * second)).toBeUndefined();
});

test("other pods and images do not back off", () => {
  const backoff = createPullBackoff();
  backoff.failed("pod", "app", { startedAt: 0, now: 0, error: "e" });
  expect(backoff.waiting("pod", "other", 1)).toBeUndefined();
  expect(backoff.waiting("other", "app", 1)).toBeUndefined();
});
