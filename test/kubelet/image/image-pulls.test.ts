import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Container, Secret } from "../../../src/api/meta/objects.ts";
import { ImageSpec, PullImageWithProgressRequest } from "../../../src/cri/generated/cri.ts";
import { defaultKubeletConfiguration } from "../../../src/kubelet/config/kubelet-configuration.ts";
import { createImagePuller, type ImagePullerOptions } from "../../../src/kubelet/images/image-puller.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { ContainerPull } from "../../../src/lib/image/pull-progress.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { createManualClock } from "../../../src/lib/manual-clock.ts";
import { createMetrics } from "../../../src/lib/metrics/metrics.ts";
import { busyboxImage, type CriRuntime, startCriRuntime } from "../../support/cri/cri-runtime.ts";
import { makePod } from "../../support/manifests/pod.ts";
import { describeWithTool } from "../../support/programs/tools.ts";
import { type FakeRegistry, layerOf, startFakeRegistry } from "../../support/registry/fake-registry.ts";
import { startSlowRegistry } from "../../support/registry/slow-registry.ts";

const kib = 1_024;
describeWithTool("busybox", "image pulls on our runtime", () => {
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
      metrics: createMetrics(),
      cri: runtime.client,
      getSecret: async () => undefined,
      recorder: { record: (_about, { reason, message }) => events.push({ reason, message }) },
      // Every second; a configuration file must set at least ten.
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
      const pod = makePod("pod", { metadata: { uid: "uid-1" }, containers: [container], imagePullSecrets });
      const { signal = new AbortController().signal } = more;
      return puller.ensureImage({ pod, container, runtimeHandler: "", signal });
    };
    return { puller, ensure, events };
  }

  test("an image that is present is not pulled", async () => {
    const { ensure, events } = setUp();
    expect(await ensure(busyboxImage)).toMatch(/^sha256:/);
    expect(events.map(({ message }) => message)).toEqual([
      `Container image "${busyboxImage}" already present on machine`,
    ]);
  });

  test("3542-6 events report the progress of a pull, and clients of the kubelet see each layer", async () => {
    registry = await startSlowRegistry({ layerBytes: [600 * kib, 300 * kib], pieces: 45, pauseMs: 100 });
    const { puller, ensure, events } = setUp();
    const began = Date.now();
    const stop = new AbortController();
    const seen: (readonly ContainerPull[])[] = [];
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
    const reported = messages.slice(1, -1);
    expect(reported.length).toBeGreaterThanOrEqual(2);
    expect(reported.length).toBeLessThanOrEqual((Date.now() - began) / 1_000 + 1);
    for (const message of reported) {
      expect(message.startsWith(`Pulling Container image ${reference}: `)).toBe(true);
      expect(message).toMatch(/: [\d.]+Ki of 90[\d.]+Ki$/);
    }
    const details = seen.flat().find(({ offset, total }) => offset > 0 && offset < total);
    expect(details).toMatchObject({ image: reference, container: "web" });
    expect(details?.layers.map(({ digest }) => digest)).toEqual(layers.map(({ digest }) => digest));
    expect(details?.layers.map(({ stage }) => stage)).toContain("downloading");
  });

  test("3542-12 gate off: pulled without progress", async () => {
    registry = await startSlowRegistry({ layerBytes: [300 * kib], pieces: 25, pauseMs: 100 });
    const { ensure, events } = setUp({ features: { ImagePullProgress: false } });
    expect(await ensure(registry.reference)).toMatch(/^sha256:/);
    expect(events.map(({ reason }) => reason)).toEqual(["Pulling", "Pulled"]);
  });

  test("3542-10 a registry that does not respond: ErrImagePull with the reason, back-off, recovery", async () => {
    let blocked = true;
    registry = await startFakeRegistry({ layers: [layerOf("file", "content")], handle: () => blocked });
    const { reference } = registry;
    const clock = createManualClock(Date.now());
    const config = { ...defaultKubeletConfiguration, noProgressTimeoutSeconds: 1 };
    const { images } = runtime.client;
    // The timeout of one second is for the registry that does not respond, not for a busy machine.
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

  test("a pull that no pod needs any more is cancelled in the runtime too", async () => {
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

  test("a pod's pull secret gives access to a private registry", async () => {
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
});
