// Clauses: 3542-14
import type { LayerProgress, LayerStage, PullProgress } from "../../lib/image/pull-progress.ts";
import { type ContentSnapshot, type Manifest, slackMs } from "./content-facts.ts";
import { matchImages } from "./match-images.ts";

/** Pull whose progress is tracked. */
export interface WantedPull {
  readonly id: string;
  readonly image: string;
  readonly startedMs: number;
}

/**
 * State of a pull.
 *
 *     resolving ──▶ receiving ──▶ received
 *         ▲             │
 *         └─────────────┘  the pull failed and starts again
 *
 * While it is resolving, the manifest has not arrived, or the pull waits for others. After the last byte layers are
 * unpacked, for which there is no timeout.
 */
type PullState = "resolving" | "receiving" | "received";

export interface TrackedPull {
  readonly progress: PullProgress;
  readonly state: PullState;
  /** Images of which one has this progress: several tags of a repository are pulled at once. */
  readonly oneOf?: readonly string[];
  /** Time when data arrived last, when the pull was last queued, or when it was first seen. */
  readonly progressedMs: number;
}

export interface TrackerState {
  /** Digest of the manifest by image, where it is certain. */
  readonly manifests: ReadonlyMap<string, string>;
  readonly pulls: ReadonlyMap<string, TrackedPull>;
}

export const initialTracker: TrackerState = { manifests: new Map(), pulls: new Map() };

/** Computes the progress of each pull from a snapshot of the content store. */
export function trackPulls(
  before: TrackerState,
  {
    snapshot,
    wanted,
    now,
  }: { readonly snapshot: ContentSnapshot; readonly wanted: readonly WantedPull[]; readonly now: number },
): TrackerState {
  const started = new Map<string, number>();
  for (const { image, startedMs } of wanted)
    started.set(image, Math.min(startedMs, started.get(image) ?? startedMs));
  const { matches, certain } = matchImages(before.manifests, started, snapshot);
  const measured = wanted.map(({ image, startedMs }) => {
    const match = matches.get(image);
    return match ? measure(match.manifest, startedMs, snapshot) : resolving;
  });
  const queued = findQueued(measured);
  const pulls = wanted.map(({ id, image }, index): [string, TrackedPull] => {
    const current = measured[index] ?? resolving;
    const last = before.pulls.get(id);
    const isQueued = queued.has(index);
    const progressedMs = last && !isQueued && !hasProgressed(last, current) ? last.progressedMs : now;
    const progress: PullProgress = isQueued ? { ...current.progress, queued: true } : current.progress;
    const { oneOf } = matches.get(image) ?? {};
    return [id, { ...current, progress, progressedMs, ...(oneOf && { oneOf }) }];
  });
  return { manifests: certain, pulls: new Map(pulls) };
}

type Measured = Pick<TrackedPull, "progress" | "state">;

const resolving: Measured = { progress: { offset: 0, total: 0, layers: [] }, state: "resolving" };

/** A transfer that starts again from 0 is progress too: the registry has responded. */
function hasProgressed(last: Measured, current: Measured): boolean {
  return (
    last.state !== current.state ||
    last.progress.offset !== current.progress.offset ||
    last.progress.total !== current.progress.total
  );
}

function measure(manifest: Manifest, startedMs: number, { ingests, stored }: ContentSnapshot): Measured {
  const layers = manifest.layers.map(({ digest, size }): LayerProgress => {
    const layer = (offset: number, stage: LayerStage) => ({ digest, offset, total: size, stage });
    const ingest = ingests.get(digest);
    if (ingest) return layer(Math.min(ingest.offset, size), ingest.offset > 0 ? "downloading" : "waiting");
    const complete = stored.get(digest);
    if (!complete) return layer(0, "waiting");
    if (complete.createdMs < startedMs - slackMs) return { digest, offset: 0, total: 0, stage: "exists" };
    return layer(size, complete.isUnpacked ? "done" : "unpacking");
  });
  const sum = (count: (layer: LayerProgress) => number) => layers.reduce((all, one) => all + count(one), 0);
  const isReceived = layers.every(({ stage }) => ["done", "unpacking", "exists"].includes(stage));
  return {
    progress: { offset: sum(({ offset }) => offset), total: sum(({ total }) => total), layers },
    state: isReceived ? "received" : "receiving",
  };
}

/** Minimum timeout: `offset` moves in steps of 1 MiB, which a slow transfer takes a while for. */
const minTimeoutMs = 60_000;

/** No-progress timeout on containerd for a configured one. Infinity if it is disabled. */
export function timeoutOnContainerd(noProgressTimeoutSeconds: number): number {
  return noProgressTimeoutSeconds === 0
    ? Number.POSITIVE_INFINITY
    : Math.max(1_000 * noProgressTimeoutSeconds, minTimeoutMs);
}

/** Whether no data has arrived for the timeout although some is missing. */
export function isStalled({ state, progressedMs }: TrackedPull, timeoutMs: number, now: number): boolean {
  return state !== "received" && now - progressedMs >= timeoutMs;
}

/**
 * Indexes of the pulls that may wait for others instead of the registry:
 *
 * - A pull without a manifest, while another one has a manifest or has waited longer: kubelets record `Pulling` before a pull
 *   has its turn, and containerd 2 requests manifests in the same queue as layers.
 * - A pull of which no layer is being received, while one of another pull is: containerd 2 limits the layers of all pulls
 *   (`max_concurrent_downloads`).
 */
function findQueued(pulls: readonly Measured[]): ReadonlySet<number> {
  const indexes = [...pulls.keys()];
  const resolvingPulls = indexes.filter((index) => pulls[index]?.state === "resolving");
  const isBusy = resolvingPulls.length < pulls.length;
  const isReceiving = pulls.some(hasTransfer);
  const waiting = pulls.flatMap((pull, index) =>
    isReceiving && pull.state === "receiving" && !hasTransfer(pull) ? index : [],
  );
  return new Set([...(isBusy ? resolvingPulls : resolvingPulls.slice(1)), ...waiting]);
}

function hasTransfer({ progress }: Measured): boolean {
  return progress.layers.some(({ stage }) => stage === "downloading");
}
