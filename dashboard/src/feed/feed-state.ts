import type {
  EventView,
  FeedMessage,
  FinishedView,
  NodeView,
  PodView,
  PullView,
  SloView,
  StatefulSetView,
} from "../../../src/monitor/feed/feed-message.ts";
import { addSample, type Sample } from "./pull-pace.ts";

/** State of the page. Parts that a message does not change keep their identity, so that views can skip rendering. */
export interface FeedState {
  readonly cluster: { readonly server: string; readonly version: string } | undefined;
  readonly starting: ReadonlyMap<string, PodView>;
  /** Number of starting pods; the server sends only a limited number of them. */
  readonly startingTotal: number;
  /** Samples by uid, then by `pullKey` and `layerKey`. */
  readonly samples: ReadonlyMap<string, PodSamples>;
  /** Newest first, like the events. */
  readonly finished: readonly FinishedView[];
  readonly statefulSets: ReadonlyMap<string, StatefulSetView>;
  readonly slos: readonly SloView[];
  readonly nodes: readonly NodeView[];
  readonly events: readonly EventView[];
}

export type PodSamples = ReadonlyMap<string, readonly Sample[]>;

export const emptyFeed: FeedState = {
  cluster: undefined,
  starting: new Map(),
  startingTotal: 0,
  samples: new Map(),
  finished: [],
  statefulSets: new Map(),
  slos: [],
  nodes: [],
  events: [],
};

const maxFinished = 2_000;
const maxEvents = 200;

/** Applies all messages of a frame, so that each part is copied at most once. */
export function applyMessages(state: FeedState, messages: readonly FeedMessage[]): FeedState {
  // Messages before a snapshot are skipped.
  const from = messages.findLastIndex(({ kind }) => kind === "snapshot");
  const snapshot = messages[from];
  const base = snapshot?.kind === "snapshot" ? { ...emptyFeed, cluster: snapshot.cluster } : state;
  const changes = messages.slice(Math.max(0, from));
  const touched = changes.some((change) => change.starting?.length || gone(change).length);
  // The snapshot after a reconnect continues the known pulls.
  const { starting, samples } =
    touched || base !== state ? applyStarting({ ...base, samples: state.samples }, changes) : base;
  const reportedTotal = changes.findLast((change) => change.startingTotal !== undefined)?.startingTotal;
  return {
    cluster: base.cluster,
    starting,
    samples,
    startingTotal: Math.max(
      starting.size,
      reportedTotal ?? (base === state && !touched ? base.startingTotal : 0),
    ),
    finished: prepend(base.finished, changes, (change) => change.finished, maxFinished),
    events: prepend(base.events, changes, (change) => change.events, maxEvents),
    statefulSets: applyStatefulSets(base.statefulSets, changes),
    slos: changes.findLast((change) => change.slos)?.slos ?? base.slos,
    nodes: changes.findLast((change) => change.nodes)?.nodes ?? base.nodes,
  };
}

function gone(message: FeedMessage): readonly string[] {
  return (message.kind === "change" && message.gone) || [];
}

function applyStarting(
  before: Pick<FeedState, "starting" | "samples">,
  changes: readonly FeedMessage[],
): Pick<FeedState, "starting" | "samples"> {
  const starting = new Map(before.starting);
  const samples = new Map(before.samples);
  for (const change of changes) {
    for (const pod of change.starting ?? []) {
      starting.set(pod.uid, pod);
      if (pod.pulls.length > 0)
        samples.set(pod.uid, samplePulls(samples.get(pod.uid), pod.pulls, change.now));
      else samples.delete(pod.uid);
    }
    for (const uid of gone(change)) starting.delete(uid);
  }
  for (const uid of samples.keys()) if (!starting.has(uid)) samples.delete(uid);
  return { starting, samples };
}

export const pullKey = ({ container, image }: PullView) => `${container}\n${image}`;
export const layerKey = (pull: PullView, layer: string) => `${pullKey(pull)}\n${layer}`;

function samplePulls(before: PodSamples | undefined, pulls: readonly PullView[], now: number): PodSamples {
  const after = new Map<string, readonly Sample[]>();
  for (const pull of pulls) {
    const key = pullKey(pull);
    // The start time of a new pull gives its rate immediately.
    const known = before?.get(key) ?? [{ atMs: Math.min(now, Date.parse(pull.startedAt) || now), offset: 0 }];
    after.set(key, addSample(known, { atMs: now, offset: pull.offset }));
    for (const { layer, offset, stage } of pull.layers) {
      if (stage !== "downloading") continue;
      after.set(
        layerKey(pull, layer),
        addSample(before?.get(layerKey(pull, layer)) ?? [], { atMs: now, offset }),
      );
    }
  }
  return after;
}

/** Adds new entries at the front and replaces known ones in place. */
function prepend<T extends { readonly uid: string }>(
  before: readonly T[],
  changes: readonly FeedMessage[],
  pick: (change: FeedMessage) => readonly T[] | undefined,
  most: number,
): readonly T[] {
  const newest = new Map<string, T>();
  for (const change of changes) for (const each of pick(change) ?? []) newest.set(each.uid, each);
  if (newest.size === 0) return before;
  const kept = before.map((old) => {
    const replaced = newest.get(old.uid);
    newest.delete(old.uid);
    return replaced ?? old;
  });
  // Entries of a message are newest first; later messages are newer.
  const added = changes
    .toReversed()
    .flatMap((change) => (pick(change) ?? []).filter(({ uid }) => newest.get(uid) && newest.delete(uid)));
  return [...added, ...kept].slice(0, most);
}

function applyStatefulSets(
  before: ReadonlyMap<string, StatefulSetView>,
  changes: readonly FeedMessage[],
): ReadonlyMap<string, StatefulSetView> {
  const touched = changes.some(
    (change) => change.statefulSets?.length || (change.kind === "change" && change.goneStatefulSets?.length),
  );
  if (!touched) return before;
  const after = new Map(before);
  for (const change of changes) {
    for (const set of change.statefulSets ?? []) after.set(`${set.namespace}/${set.name}`, set);
    if (change.kind === "change") for (const key of change.goneStatefulSets ?? []) after.delete(key);
  }
  return after;
}
