import { isDeepStrictEqual } from "node:util";
import type { AuthConfig, PodSandboxConfig } from "../../cri/generated/cri.ts";
import type { ReportGranularity } from "../../cri/report-meter.ts";
import type { SharedPull, SimulatedCore } from "../core.ts";
import type { PullScript } from "../script/scripts.ts";
import { followPull } from "./follow-pull.ts";
import { imageOf, type SimulatedImage } from "./image-store.ts";
import { imageSize, planPull } from "./plan-pull.ts";
import { presentImage } from "./present-image.ts";
import { type LayerProgress, layersAt } from "./pull-plan.ts";

export interface PullRequest {
  readonly reference: string;
  readonly auth: AuthConfig | undefined;
  readonly pod: PodSandboxConfig | undefined;
  /** What the pod says of its pulls. */
  readonly annotated: PullScript | undefined;
  readonly granularity: ReportGranularity;
  readonly noProgressMs: number;
  readonly signal: AbortSignal;
}

export interface PullReport {
  readonly offset: number;
  readonly total: number;
  readonly layers: readonly LayerProgress[];
  /** In the last one. */
  readonly image?: SimulatedImage;
}

export async function* pullImage(core: SimulatedCore, request: PullRequest): AsyncGenerator<PullReport> {
  const script = pullScript(core, request);
  const image = imageOf(request.reference, imageSize(script));
  const here = presentImage(core, request.reference) !== undefined;
  const shared = joinPull(core, image.id, planPull(script, { ...request, here }));
  const { plan, beganAt } = shared;
  shared.followers++;
  try {
    for await (const { offset, layers } of followPull(plan, { ...request, clock: core.clock, beganAt }))
      yield { offset, total: plan.total, layers };
  } finally {
    shared.followers--;
    if (shared.followers === 0 && core.pulls.get(image.id) === shared) core.pulls.delete(image.id);
  }
  core.state.images.set(image.id, image);
  const layers = layersAt(plan, Number.POSITIVE_INFINITY);
  yield { offset: plan.total, total: plan.total, layers, image };
}

function pullScript({ rules }: SimulatedCore, { reference, pod, annotated }: PullRequest): PullScript {
  const { namespace, name, uid } = pod?.metadata ?? {};
  return rules.scriptFor("pull", { image: reference, namespace, pod: name, uid }, annotated);
}

/** The pull of the image that is under way, if it goes as this one would: each is downloaded once at a time. */
function joinPull({ pulls, clock }: SimulatedCore, imageId: string, plan: SharedPull["plan"]): SharedPull {
  const other = pulls.get(imageId);
  if (other && isDeepStrictEqual(other.plan, plan)) return other;
  const mine: SharedPull = { plan, beganAt: clock.now(), followers: 0 };
  // A pull that will fail is its caller's alone: another may bring better credentials.
  if (!plan.failure) pulls.set(imageId, mine);
  return mine;
}
