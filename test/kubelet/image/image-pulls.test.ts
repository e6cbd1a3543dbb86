import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Container, Secret } from "../../../src/api/objects.ts";
import { ImageSpec, PullImageWithProgressRequest } from "../../../src/cri/generated/cri.ts";
import { defaultKubeletConfiguration } from "../../../src/kubelet/configuration/kubelet-configuration.ts";
import {
  createImagePuller,
  type ImagePullerOptions,
} from "../../../src/kubelet/image/create-image-puller.ts";
import type { PullProgress } from "../../../src/kubelet/image/image-puller.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { createManualClock } from "../../../src/lib/manual-clock.ts";
import { busyboxImage, type CriRuntime, startCriRuntime } from "../../support/cri-runtime.ts";
import { type FakeRegistry, layerOf, startFakeRegistry } from "../../support/fake-registry.ts";
import { startSlowRegistry } from "../../support/slow-registry.ts";

const kib = 1_024;
let runtime: CriRuntime;
let registry: FakeRegistry | undefined;

beforeAll(async () => {
  runtime = await startCriRuntime({ driver: "host" });
});
afterAll(() => runtime?.stop());
afterEach(async () => {
  if (!registry) return;
  await runtime.client.images.removeImage({ image: ImageSpec.fromPartial({ image: registry.reference }) });
  await registry.stop();
  registry = undefined;
});

function setUp(options: Partial<ImagePullerOptions> = {}) {
  const events: { reason: string; message: string }[] = [];
  const puller = createImagePuller({
    cri: runtime.client,
    getSecret: async () => undefined,
    recorder: { record: (_about, { reason, message }) => events.push({ reason, message }) },
    // By the second, where a configuration file would have to say ten at least.
    config: { ...defaultKubeletConfiguration, imagePullProgress: { kind: "time", intervalMs: 1_000 } },
    nodeName: "node-1",
    eventWriteMs: () => 0,
    features: { ImagePullProgress: true },
    clock: systemClock,
    logger: silentLogger,
    ...options,
  });
  const ensure = (image: string, more: { signal?: AbortSignal; secret?: string } = {}) => {
    const container: Container = { name: "web", image };
    const imagePullSecrets = more.secret ? [{ name: more.secret }] : [];
    const metadata = { name: "pod", namespace: "default", uid: "uid-1" };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: { containers: [container], imagePullSecrets },
    };
    const { signal = new AbortController().signal } = more;
    return puller.ensureImage({ pod, container, runtimeHandler: "", signal });
  };
  return { puller, ensure, events };
}

test("an image that is there is not pulled", async () => {
  const { ensure, events } = setUp();
  expect(await ensure(busyboxImage)).toMatch(/^sha256:/);
  expect(events.map(({ message }) => message)).toEqual([
    `Container image "${busyboxImage}" already present on machine`,
  ]);
});

test("3542-6 events tell how far a pull is, and whoever asks sees each layer", async () => {
  registry = await startSlowRegistry({ layerBytes: [600 * kib, 300 * kib], pieces: 45, pauseMs: 100 });
  const { puller, ensure, events } = setUp();
  const began = Date.now();
  const stop = new AbortController();
  const seen: (readonly PullProgress[])[] = [];
  const following = (async () => {
    for await (const now of puller.followProgress("uid-1", stop.signal)) seen.push(now);
  })();
  expect(await ensure(registry.reference)).toMatch(/^sha256:/);
  expect(puller.progress("uid-1")).toEqual([]);
  stop.abort();
  await following;

  const { reference, layers } = registry;
  const messages = events.map(({ message }) => message);
  expect(messages[0]).toBe(`Pulling image "${reference}"`);
  expect(messages.at(-1)).toMatch(
    /^Successfully pulled image ".*" in \d+(\.\d+)?s \(\d+(\.\d+)?s including waiting\)\. Image size: 9\d{5} bytes\.$/,
  );
  const told = messages.slice(1, -1);
  expect(told.length).toBeGreaterThanOrEqual(2);
  expect(told.length).toBeLessThanOrEqual((Date.now() - began) / 1_000 + 1);
  for (const message of told) {
    expect(message.startsWith(`Pulling Container image ${reference}: `)).toBe(true);
    expect(message).toMatch(/: [\d.]+Ki of 90[\d.]+Ki$/);
  }
  const details = seen.flat().find(({ offset, total }) => offset > 0 && offset < total);
  expect(details).toMatchObject({ image: reference, container: "web" });
  expect(details?.layers.map(({ digest }) => digest)).toEqual(layers.map(({ digest }) => digest));
  expect(details?.layers.map(({ stage }) => stage)).toContain("downloading");
});

test("3542-12 gate off: pulled all the same, with no word in between", async () => {
  registry = await startSlowRegistry({ layerBytes: [300 * kib], pieces: 25, pauseMs: 100 });
  const { ensure, events } = setUp({ features: { ImagePullProgress: false } });
  expect(await ensure(registry.reference)).toMatch(/^sha256:/);
  expect(events.map(({ reason }) => reason)).toEqual(["Pulling", "Pulled"]);
});

test("3542-10 a registry that never answers: ErrImagePull with the reason, back-off, recovery", async () => {
  let blocked = true;
  registry = await startFakeRegistry({ layers: [layerOf("file", "content")], handle: () => blocked });
  const { reference } = registry;
  const clock = createManualClock(Date.now());
  const config = { ...defaultKubeletConfiguration, noProgressTimeoutSeconds: 1 };
  const { images } = runtime.client;
  // A second's patience is for the registry that does not answer, not for a machine that is held up.
  const patient = {
    ...images,
    pullImageWithProgress: (...[request, options]: Parameters<typeof images.pullImageWithProgress>) =>
      images.pullImageWithProgress(
        blocked
          ? request
          : PullImageWithProgressRequest.fromPartial({ request: { image: request.request?.image } }),
        options,
      ),
  };
  const { ensure, events } = setUp({ cri: { images: patient }, clock, config });
  await expect(ensure(reference)).rejects.toMatchObject({
    reason: "ErrImagePull",
    message: expect.stringMatching(/no progress, the registry sent nothing for 1 s/),
  });
  blocked = false;
  await expect(ensure(reference)).rejects.toMatchObject({
    reason: "ImagePullBackOff",
    message: expect.stringMatching(/^Back-off pulling image ".*": ErrImagePull: .*no progress/),
  });
  await clock.advance(10_000);
  expect(await ensure(reference)).toMatch(/^sha256:/);
  expect(events.map(({ reason }) => reason)).toEqual([
    ...["Pulling", "Failed", "Failed"],
    ...["BackOff", "Failed"],
    ...["Pulling", "Pulled"],
  ]);
});

test("a pull that nobody wants any more ends in the runtime too", async () => {
  const slow = await startSlowRegistry({ layerBytes: [400 * kib], pieces: 100, pauseMs: 100 });
  registry = slow;
  const { ensure } = setUp();
  const stop = new AbortController();
  const pulling = ensure(slow.reference, { signal: stop.signal });
  const [layer] = slow.layers;
  await expect.poll(() => slow.requests.some(({ path }) => path.endsWith(layer?.digest ?? "?"))).toBe(true);
  stop.abort(new Error("the pod ends"));
  await expect(pulling).rejects.toThrow("the pod ends");
  await expect.poll(() => slow.cancelled()).toBe(1);
});

test("a pod's pull secret opens a registry that is closed to others", async () => {
  const basic = `Basic ${Buffer.from("user:secret").toString("base64")}`;
  registry = await startFakeRegistry({
    layers: [layerOf("file", "private")],
    handle(request, response) {
      if (request.headers.authorization === basic) return false;
      response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
      return true;
    },
  });
  const { host, reference } = registry;
  const auths = {
    [host]: { username: "user", password: "wrong" },
    [`http://${host}/app`]: { auth: basic.slice(6) },
  };
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pull", namespace: "default" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") },
  };
  const getSecret = async (namespace: string, name: string) =>
    namespace === "default" && name === "pull" ? secret : undefined;

  const { ensure, events, puller } = setUp({ getSecret });
  await expect(ensure(reference, { secret: "other" })).rejects.toMatchObject({ reason: "ErrImagePull" });
  expect(events.map(({ reason }) => reason)).toContain("FailedToRetrieveImagePullSecret");
  puller.forget("uid-1");
  expect(await ensure(reference, { secret: "pull" })).toMatch(/^sha256:/);
});
