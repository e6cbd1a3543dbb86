import { join } from "node:path";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CriClient, connectCri } from "../../../src/cri/cri-client.ts";
import {
  Image,
  ImageServiceService,
  type ImageStatusRequest,
  type ImageStatusResponse,
  type PullImageRequest,
  type PullImageResponse,
} from "../../../src/cri/generated/cri.ts";
import { defaultKubeletConfiguration } from "../../../src/kubelet/config/kubelet-configuration.ts";
import { createImagePuller } from "../../../src/kubelet/images/image-puller.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createMetrics } from "../../../src/lib/metrics/metrics.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { makePod } from "../../support/manifests/pod.ts";

/** A runtime of today: it knows the call neither by name nor by number. */
const server = new Server();
const address = `unix:${join(temporaryFolder(), "old.sock")}`;
const pulls: PullImageRequest[] = [];
let client: CriClient;

beforeAll(async () => {
  const { imageStatus, pullImage } = ImageServiceService;
  server.addService(
    { imageStatus, pullImage },
    {
      imageStatus: (
        _call: ServerUnaryCall<ImageStatusRequest, ImageStatusResponse>,
        respond: sendUnaryData<ImageStatusResponse>,
      ) => respond(null, { image: Image.fromPartial({ id: "sha256:old", size: 7n }), info: {} }),
      pullImage: (
        { request }: ServerUnaryCall<PullImageRequest, PullImageResponse>,
        respond: sendUnaryData<PullImageResponse>,
      ) => {
        pulls.push(request);
        respond(null, { imageRef: "sha256:old" });
      },
    },
  );
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(address, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  client = connectCri(address);
});
afterAll(() => {
  client.close();
  server.forceShutdown();
});

test("3542-7 falls back to PullImage, remembers it, and logs it once", async () => {
  const events: string[] = [];
  const log: string[] = [];
  let probes = 0;
  const images: CriClient["images"] = {
    ...client.images,
    pullImageWithProgress(...call) {
      probes++;
      return client.images.pullImageWithProgress(...call);
    },
  };
  const puller = createImagePuller({
    metrics: createMetrics(),
    cri: { images },
    getSecret: async () => undefined,
    recorder: { record: (_about, { reason, message }) => events.push(`${reason} ${message}`) },
    config: defaultKubeletConfiguration,
    nodeName: "node-1",
    eventWriteMs: () => 0,
    features: { ImagePullProgress: true },
    clock: systemClock,
    logger: createLogger({ format: "json", level: "info", destination: { write: (line) => log.push(line) } }),
  });
  const container = { name: "web", image: "busybox" };
  const pod = makePod("pod", { metadata: { uid: "uid-1" }, containers: [container] });
  const { signal } = new AbortController();
  const ensure = () => puller.ensureImage({ pod, container, runtimeHandler: "", signal });
  expect(await ensure()).toBe("sha256:old");
  expect(await ensure()).toBe("sha256:old");

  expect({ probes, pulls: pulls.length }).toEqual({ probes: 1, pulls: 2 });
  expect(pulls[0]?.image?.image).toBe("busybox:latest");
  expect(log.filter((line) => line.includes("does not implement PullImageWithProgress"))).toHaveLength(1);
  expect(events).toEqual([
    ...[
      'Pulling Pulling image "busybox"',
      expect.stringMatching(/^PullImageWithProgressNotImplemented the container runtime does not implement/),
      expect.stringMatching(/^Pulled Successfully pulled image "busybox" in/),
    ],
    ...['Pulling Pulling image "busybox"', expect.stringMatching(/Image size: 7 bytes\.$/)],
  ]);
});
