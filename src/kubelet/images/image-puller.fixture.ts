import { status } from "@grpc/grpc-js";
import { expect } from "vitest";
import type { Container, Pod } from "../../api/meta/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { Image, type PullImageRequest, type PullImageWithProgressRequest } from "../../cri/generated/cri.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { defaultKubeletConfiguration } from "../config/kubelet-configuration.ts";
import { StartError } from "../model/start-error.ts";
import { createImagePuller, type ImagePullerOptions } from "./image-puller.ts";

export const grpc = (code: status, details: string) => Object.assign(new Error(details), { code, details });
export const gib = 2 ** 30;
export const settle = () => new Promise((resolve) => setImmediate(resolve));

export interface FakeRuntime {
  present?: Map<string, string>;
  /** Result of the nth pull. */
  pull?: (request: PullImageRequest, attempt: number) => Promise<string> | string;
  reports?: readonly { atMs: number; offset: number; total: number }[];
  hasProgress?: boolean;
  inspect?: () => never;
}

/** Creates a puller with a scripted runtime and a manual clock. */
export function setUpPuller(runtime: FakeRuntime = {}, options: Partial<ImagePullerOptions> = {}) {
  const clock = createManualClock(Date.parse("2030-01-01T00:00:00Z"));
  const events: string[] = [];
  const plain: PullImageRequest[] = [];
  const withProgress: PullImageWithProgressRequest[] = [];
  let attempts = 0;
  const pull = async (request: PullImageRequest, signal?: AbortSignal) => {
    const aborted = new Promise<never>((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason)),
    );
    const imageRef = runtime.pull?.(request, attempts++) ?? "sha256:pulled";
    return { imageRef: await Promise.race([imageRef, aborted]) };
  };
  const images: Partial<CriClient["images"]> = {
    async imageStatus({ image }) {
      runtime.inspect?.();
      const id = runtime.present?.get(image?.image ?? "");
      return { image: id ? Image.fromPartial({ id, size: 1_234n }) : undefined, info: {} };
    },
    pullImage(request, call) {
      plain.push(request);
      return pull(request, call?.signal);
    },
    async *pullImageWithProgress(request, call) {
      withProgress.push(request);
      if (runtime.hasProgress === false) throw grpc(status.UNIMPLEMENTED, "unknown method");
      const begun = clock.now();
      const message = (offset: number, total: number, imageRef = "app") => ({
        imageRef,
        offset: { value: BigInt(offset) },
        total: { value: BigInt(total) },
        details: [
          { layer: "sha256:l", offset: { value: BigInt(offset) }, total: undefined, stage: "downloading" },
        ],
      });
      for (const { atMs, offset, total } of runtime.reports ?? []) {
        await clock.sleep(begun + atMs - clock.now(), call?.signal);
        yield message(offset, total);
      }
      if (!request.request) throw new Error("no request");
      const { imageRef } = await pull(request.request, call?.signal);
      yield message(4 * gib, 4 * gib, imageRef);
    },
  };
  const puller = createImagePuller({
    cri: { images: images as CriClient["images"] },
    getSecret: async () => undefined,
    recorder: {
      record: (_about, { type, reason, message, fieldPath }) =>
        events.push(`${type} ${reason} ${message}${fieldPath ? ` ${fieldPath}` : ""}`),
    },
    config: defaultKubeletConfiguration,
    nodeName: "node-1",
    eventWriteMs: () => 0,
    features: { ImagePullProgress: true },
    metrics: createMetrics(),
    clock,
    logger: silentLogger,
    ...options,
  });
  const ensure = (
    container: Partial<Container> = {},
    pod: Partial<Pod["spec"]> = {},
    signal = new AbortController().signal,
  ) => {
    const whole: Container = { name: "web", image: "app", ...container };
    const spec = { containers: [whole], ...pod };
    const metadata = { name: "pod", namespace: "default", uid: "uid-1", annotations: { a: "b" } };
    const request = { pod: { apiVersion: "v1", kind: "Pod", metadata, spec }, container: whole };
    return puller.ensureImage({ ...request, runtimeHandler: "", signal });
  };
  /** Returns reason and message of a failure. */
  const failure = async (attempt: Promise<string>) => {
    const error = await attempt.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(error instanceof StartError)) throw new Error("no StartError", { cause: error });
    expect(error.recorded).toBe(true);
    return `${error.reason}: ${error.message}`;
  };
  return { puller, clock, events, plain, withProgress, ensure, failure };
}
