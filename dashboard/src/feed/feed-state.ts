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

/** All that the page knows. A part that a message did not touch stays the same object, so that views can tell. */
export interface FeedState {
  readonly cluster: { readonly server: string; readonly version: string } | undefined;
  readonly starting: ReadonlyMap<string, PodView>;
  /** How many start in all; the server tells of so many only. */
  readonly startingTotal: number;
  /** By uid, then by `pullKey` and `layerKey`. */
  readonly samples: ReadonlyMap<string, PodSamples>;
  /** Newest first, as are the events. */
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

const mostFinished = 2_000;
const mostEvents = 200;

/** All messages of one frame at once: each part is copied once at most, however many they are. */
export function applyMessages(state: FeedState, messages: readonly FeedMessage[]): FeedState {
  // What came before a snapshot is not looked at.
  const from = messages.findLastIndex(({ kind }) => kind === "snapshot");
  const snapshot = messages[from];
  const base = snapshot?.kind === "snapshot" ? { ...emptyFeed, cluster: snapshot.cluster } : state;
  const changes = messages.slice(Math.max(0, from));
  const touched = changes.some((change) => change.starting?.length || gone(change).length);
  // A reconnect's snapshot continues the pulls that were seen before it.
  const { starting, samples } =
    touched || base !== state ? applyStarting({ ...base, samples: state.samples }, changes) : base;
  const told = changes.findLast((change) => change.startingTotal !== undefined)?.startingTotal;
  return {
    cluster: base.cluster,
    starting,
    samples,
    startingTotal: Math.max(starting.size, told ?? (base === state && !touched ? base.startingTotal : 0)),
    finished: prepend(base.finished, changes, (change) => change.finished, mostFinished),
    events: prepend(base.events, changes, (change) => change.events, mostEvents),
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
    // A pull that is seen for the first time has had a start: its rate is known at once.
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

/** Adds what is new at the front and replaces what is known where it stands. */
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
  // Within a message the newest comes first; of two messages the later one is the newer.
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
