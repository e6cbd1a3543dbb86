import { isDeepStrictEqual } from "node:util";
import { status } from "@grpc/grpc-js";
import { toNanos } from "../../cri/field-values.ts";
import {
  type AuthConfig,
  Image,
  type ImageServiceService,
  type PodSandboxConfig,
  type PullImageRequest,
  type PullImageWithProgressRequest,
} from "../../cri/generated/cri.ts";
import {
  createProgressMessages,
  type ReportGranularity,
  requestedGranularity,
} from "../../cri/progress-message.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import type { Clock } from "../../lib/clock.ts";
import { noProgressMessage, type PullProgress } from "../../lib/image/pull-progress.ts";
import { sleepUntil } from "../../lib/timer-queue.ts";
import { type ActivePull, annotatedScripts, type SimulatedCore } from "../model/core.ts";
import { failure, invalidArgument } from "../model/failure.ts";
import {
  bytesAt,
  endingOf,
  findImage,
  imageOf,
  imageSize,
  layersAt,
  nextReportAt,
  type PullPlan,
  planPull,
  type SimulatedImage,
} from "../model/image-store.ts";
import type { PullScript } from "../scripts/scripts.ts";

export function imageCalls(core: SimulatedCore) {
  const { state, clock } = core;
  return {
    async listImages({ filter }) {
      const wanted = filter?.image?.image;
      if (!wanted) return { images: [...state.images.values()].map(imageMessage) };
      const found = findPresentImage(core, wanted);
      return { images: found ? [imageMessage(found)] : [] };
    },

    /** Returns no image, instead of an error, for a missing one. */
    async imageStatus({ image: spec }) {
      if (!spec?.image) throw invalidArgument("image.image is missing");
      const image = findPresentImage(core, spec.image);
      return { image: image && imageMessage(image), info: {} };
    },

    async pullImage(request, { signal }) {
      const pull: PullRequest = { ...parsePull(request), granularity: { kind: "none" }, signal };
      for await (const { image } of pullImage(core, pull)) if (image) return { imageRef: image.id };
      throw new Error("the pull ended without an image");
    },

    async *pullImageWithProgress(request, { signal }) {
      const pull = { ...parsePullWithProgress(request), signal };
      const toMessage = createProgressMessages({ verbose: request.verbosity });
      // The image ID, as in containerd: kubelets compare it with the ID in ImageStatus.
      for await (const report of pullImage(core, pull))
        yield toMessage(report, report.image?.id ?? pull.reference);
    },

    /** Succeeds for a missing image. */
    async removeImage({ image: spec }) {
      if (!spec?.image) throw invalidArgument("image.image is missing");
      const image = findPresentImage(core, spec.image);
      if (image) state.images.delete(image.id);
      return {};
    },

    async imageFsInfo() {
      const images = [...state.images.values()];
      const usage = {
        timestamp: toNanos(clock.now()),
        fsId: { mountpoint: "/" },
        usedBytes: { value: BigInt(images.reduce((sum, image) => sum + image.sizeBytes, 0)) },
        inodesUsed: { value: BigInt(images.length) },
      };
      return { imageFilesystems: [usage], containerFilesystems: [usage] };
    },
  } satisfies ServiceCalls<ImageServiceService>;
}

function parsePull(request: PullImageRequest): Omit<PullRequest, "granularity" | "signal"> {
  const { image, auth, sandboxConfig: pod } = request;
  if (!image?.image) throw invalidArgument("image.image is missing");
  return {
    reference: image.image,
    auth,
    pod,
    annotated: pod && annotatedScripts(pod)?.pull,
    noProgressMs: 1_000 * (request.noProgressTimeout?.value ?? 0),
  };
}

function parsePullWithProgress(request: PullImageWithProgressRequest): Omit<PullRequest, "signal"> {
  if (!request.request) throw invalidArgument("request is missing");
  const pull = parsePull(request.request);
  const granularity = requestedGranularity(request);
  if (!granularity)
    throw invalidArgument(`granularity_type ${request.granularityType}: 0 is size, 1 time, 2 none`);
  const timeout = request.noProgressTimeout;
  return { ...pull, granularity, noProgressMs: timeout ? 1_000 * timeout.value : pull.noProgressMs };
}

function imageMessage({ id, repoTags, repoDigests, sizeBytes }: SimulatedImage): Image {
  return Image.fromPartial({
    id,
    repoTags: [...repoTags],
    repoDigests: [...repoDigests],
    size: BigInt(sizeBytes),
    uid: { value: 0n },
    spec: { image: id },
  });
}

export interface PullRequest {
  readonly reference: string;
  readonly auth: AuthConfig | undefined;
  readonly pod: PodSandboxConfig | undefined;
  /** Pull script from the pod's annotations. */
  readonly annotated: PullScript | undefined;
  readonly granularity: ReportGranularity;
  readonly noProgressMs: number;
  readonly signal: AbortSignal;
}

export interface PullReport extends PullProgress {
  /** Set in the last report. */
  readonly image?: SimulatedImage;
}

async function* pullImage(core: SimulatedCore, request: PullRequest): AsyncGenerator<PullReport> {
  const script = pullScript(core, request);
  const image = imageOf(request.reference, imageSize(script));
  const here = findPresentImage(core, request.reference) !== undefined;
  const shared = joinPull(core, image.id, planPull(script, { ...request, here }));
  const { plan, pullStartedAt } = shared;
  shared.callers++;
  try {
    yield* followPull(plan, { request, clock: core.clock, pullStartedAt });
  } finally {
    shared.callers--;
    if (shared.callers === 0 && core.pulls.get(image.id) === shared) core.pulls.delete(image.id);
  }
  core.state.images.set(image.id, image);
  const layers = layersAt(plan, Number.POSITIVE_INFINITY);
  yield { offset: plan.total, total: plan.total, layers, image };
}

function pullScript({ rules }: SimulatedCore, { reference, pod, annotated }: PullRequest): PullScript {
  const { namespace, name, uid } = pod?.metadata ?? {};
  return rules.scriptFor("pull", { image: reference, namespace, pod: name, uid }, annotated);
}

/** Joins a pull of the same image that is in progress and has the same plan; otherwise starts one. */
function joinPull({ pulls, clock }: SimulatedCore, imageId: string, plan: ActivePull["plan"]): ActivePull {
  const other = pulls.get(imageId);
  if (other && isDeepStrictEqual(other.plan, plan)) return other;
  const started: ActivePull = { plan, pullStartedAt: clock.now(), callers: 0 };
  // A pull that will fail is not shared: another caller may have valid credentials.
  if (!plan.failure) pulls.set(imageId, started);
  return started;
}

/** Reports of a shared pull for one caller, with its own granularity and timeout. Returns when the pull is complete. */
async function* followPull(
  plan: PullPlan,
  { request, clock, pullStartedAt }: { request: PullRequest; clock: Clock; pullStartedAt: number },
): AsyncGenerator<PullReport, void> {
  const { reference, granularity, noProgressMs, signal } = request;
  const ending = endingOf(plan, noProgressMs);
  const elapsed = () => clock.now() - pullStartedAt;
  let last = { atMs: elapsed(), offset: bytesAt(plan, elapsed()) };
  for (;;) {
    const next = nextReportAt(plan, granularity, last);
    if (next === undefined || next >= ending.atMs) break;
    await sleepUntil(clock, pullStartedAt + next, signal);
    const atMs = elapsed();
    last = { atMs, offset: bytesAt(plan, atMs) };
    // There is nothing to report before the registry has responded.
    if (atMs >= plan.startMs) yield { offset: last.offset, total: plan.total, layers: layersAt(plan, atMs) };
  }
  await sleepUntil(clock, pullStartedAt + ending.atMs, signal);
  if (ending.kind === "failed") throw ending.error;
  if (ending.kind === "done") return;
  throw failure(
    status.DEADLINE_EXCEEDED,
    noProgressMessage(reference, { timeoutMs: noProgressMs, layers: layersAt(plan, elapsed()) }),
  );
}

/** Returns the image if it is present. With `imagesPresent`, missing images are added without a pull. */
export function findPresentImage(
  { state, rules, imagesPresent }: SimulatedCore,
  reference: string,
): SimulatedImage | undefined {
  const found = findImage(state.images, reference);
  if (found || !imagesPresent || reference.startsWith("sha256:")) return found;
  const script = rules.scriptFor("pull", { image: reference });
  if (Object.keys(script).length > 0) return undefined;
  const image = imageOf(reference, imageSize(script));
  state.images.set(image.id, image);
  return image;
}
