import { setMaxListeners } from "node:events";
import { isReady } from "../../api/meta/object-facts.ts";
import { isKindlingVersion } from "../../api/meta/version.ts";
import type { Client } from "../../client/api/client.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import { type BackoffPolicy, retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { Monitor } from "../tracking/monitor.ts";
import type { FeedChange, FeedMessage, FinishedView, SloView } from "./feed-message.ts";
import { createFeedSources, createPeriodicLists } from "./feed-sources.ts";
import { createKubeletPoller } from "./kubelet-poller.ts";
import { createStartingViews } from "./starting-views.ts";
import { createStatefulSetViews } from "./stateful-set-views.ts";
import { createSubscribers } from "./subscribers.ts";
import { createRecentEvents, viewFinished } from "./view-pod.ts";

export interface FeedDeps {
  readonly monitor: Monitor;
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Address of the cluster, shown on the dashboard. */
  readonly server: string;
  slos(): readonly SloView[];
}

/** Live feed of the dashboard (feed-message.ts). Messages are computed once for all subscribers; idle without subscribers. */
export interface LiveFeed {
  /** Messages as JSON until the signal aborts or the subscriber is disconnected. Undefined if the limit is reached. */
  subscribe(signal: AbortSignal, onDisconnected?: () => void): AsyncIterable<string> | undefined;
  /** Number of subscribers and length of buffered messages. */
  load(): { readonly subscribers: number; readonly bufferedLength: number };
  /** Runs until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Interval between change messages. */
const batchMs = 200;
const maxSubscribers = 100;
/** Maximum number of messages queued for a subscriber; beyond that it receives a snapshot instead. */
const maxWaitingMessages = 8;
/** About ten snapshots of a cluster with thousands of starting pods. */
const maxBufferedLength = 64 * 2 ** 20;
const maxStarting = 5_000;
const maxEvents = 200;
/** Maximum time that the first snapshot waits for the informers. */
const firstSnapshotTimeoutMs = 5_000;
const versionPolicy: BackoffPolicy = { initialMs: 500, maxMs: 30_000, factor: 2, resetAfterMs: 60_000 };
/** Maximum number of views computed before yielding to the event loop. */
const viewsPerTurn = 100;

/** Creates the feed. Must be called before the monitor runs. */
export function createFeed(deps: FeedDeps): LiveFeed {
  const { monitor, client, clock, logger } = deps;
  let version = "";
  const wakeUp = createWakeUp();
  const subscribers = createSubscribers({
    capacity: maxWaitingMessages,
    maxSubscribers,
    maxBufferedLength,
    onSnapshotNeeded: wakeUp.wake,
  });
  const events = createRecentEvents(maxEvents);
  const { sets, nodes, ...sources } = createFeedSources({ client, clock, logger, onEvent: events.add });
  let areNodesKnown = false;
  nodes.synced.then(
    () => {
      areNodesKnown = true;
    },
    () => {},
  );
  const findNode = (name: string): PodFacts["node"] => {
    const object = nodes.get(name);
    if (object) return { kind: "found", object };
    return areNodesKnown ? { kind: "missing" } : undefined;
  };
  const kubelets = createKubeletPoller({ client, clock, logger });
  const starting = createStartingViews({ kubelets, logger, findNode, capacity: maxStarting });
  kubelets.onUpdate(starting.markDirty);
  const setViews = createStatefulSetViews({
    monitor,
    sets,
    logger,
    findStarting: starting.find,
    platform: () => ({ isKindling: version === "" ? undefined : isKindlingVersion(version) }),
  });
  const lists = createPeriodicLists({ monitor, nodes, slos: deps.slos });
  let finished: FinishedView[] = [];
  let isActive = false;

  monitor.onEvent(events.add);
  nodes.onChange((change) => {
    const isSame = change.kind === "changed" && isReady(change.previous) === isReady(change.object);
    if (isActive && !isSame) starting.markNodeDirty(change.object.metadata.name ?? "");
  });
  sets.onChange(({ object }) => isActive && setViews.markDirty(keyOf(object)));
  monitor.onStarting((change) => {
    if (!isActive) return;
    starting.apply(change);
    if (change.kind === "changed") {
      const { namespace, ownerKind, ownerName } = change.starting.start.class;
      if (ownerKind === "StatefulSet") setViews.markDirty(`${namespace}/${ownerName}`);
      return;
    }
    const view = change.finished && viewFinished(change.finished);
    if (view) finished.push(view);
  });

  function begin(): void {
    isActive = true;
    starting.reset(monitor.starting());
  }

  function end(): void {
    isActive = false;
    starting.reset([]);
    kubelets.clear();
    setViews.clear();
    lists.clear();
    finished = [];
  }

  async function refresh(signal: AbortSignal): Promise<void> {
    kubelets.pollDue(signal);
    while (starting.update(clock.now(), viewsPerTurn)) await nextTurn();
    const now = clock.now();
    setViews.update(now);
    const change = composeChange(now);
    subscribers.publish({ change, snapshot: () => composeSnapshot(now) });
  }

  function composeChange(now: number): string | undefined {
    const pods = starting.takeChanges();
    const setChanges = setViews.takeChanges();
    const parts = {
      starting: unlessEmpty(pods.changed, composeList),
      gone: unlessEmpty(pods.gone, JSON.stringify),
      finished: unlessEmpty(finished.toReversed(), JSON.stringify),
      statefulSets: unlessEmpty(setChanges.changed, composeList),
      goneStatefulSets: unlessEmpty(setChanges.gone, JSON.stringify),
      events: unlessEmpty(events.takeChanged(), JSON.stringify),
      ...lists.takeChanges(now),
    };
    finished = [];
    if (Object.values(parts).every((part) => part === undefined)) return undefined;
    return composeMessage("change", { now, parts: { ...parts, startingTotal: String(starting.count()) } });
  }

  function composeSnapshot(now: number): string {
    const parts = {
      cluster: JSON.stringify({ server: deps.server, version }),
      starting: composeList(starting.texts()),
      startingTotal: String(starting.count()),
      finished: JSON.stringify(monitor.finished().flatMap((start) => viewFinished(start) ?? [])),
      statefulSets: composeList(setViews.texts()),
      events: JSON.stringify(events.list()),
      ...lists.texts(),
    };
    return composeMessage("snapshot", { now, parts });
  }

  /** Computes everything when the first subscriber arrives, then only changes until the last one leaves. */
  async function serve(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = wakeUp.next();
      const hasSubscribers = subscribers.size() > 0;
      if (hasSubscribers && !isActive) begin();
      if (!hasSubscribers && isActive) end();
      // A failure of the feed must not stop metrics and objectives.
      if (hasSubscribers)
        await refresh(signal).catch((error) => logger.error("updating the dashboard feed failed", { error }));
      await wait.orAt(hasSubscribers ? clock.now() + batchMs : Number.POSITIVE_INFINITY, { clock, signal });
    }
  }

  async function readVersion(signal: AbortSignal): Promise<void> {
    const read = () => client.request<{ gitVersion?: unknown }>("GET", "/version", { signal });
    const onFailure = (error: unknown) =>
      logger.debug("reading the version of the cluster failed; retrying", { error });
    const { gitVersion } = await retry(read, { policy: versionPolicy, clock, signal, onFailure });
    if (typeof gitVersion === "string") version = gitVersion;
  }

  /** Waits for the informers, for a limited time, so that the first snapshot is not empty. */
  async function serveWhenSynced(versionRead: Promise<void>, signal: AbortSignal): Promise<void> {
    const all = Promise.allSettled([versionRead, monitor.synced, sets.synced, nodes.synced]);
    await Promise.race([all, clock.sleep(firstSnapshotTimeoutMs, signal)]);
    await serve(signal);
  }

  return {
    subscribe: subscribers.subscribe,
    load: () => ({ subscribers: subscribers.size(), bufferedLength: subscribers.bufferedLength() }),
    async run(signal) {
      // Every request to a kubelet adds a listener.
      setMaxListeners(0, signal);
      const ignoreIfStopped = (error: unknown) => {
        if (!signal.aborted) throw error;
      };
      const versionRead = readVersion(signal).catch(ignoreIfStopped);
      const serving = serveWhenSynced(versionRead, signal).catch(ignoreIfStopped);
      await Promise.all([sources.run(signal), versionRead, serving]);
    },
  };
}

function unlessEmpty<T>(list: readonly T[], compose: (list: readonly T[]) => string): string | undefined {
  return list.length > 0 ? compose(list) : undefined;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

type Part = Exclude<keyof FeedChange | "cluster", "now">;

/** Composes a message from JSON texts. Undefined parts are omitted. */
function composeMessage(
  kind: FeedMessage["kind"],
  {
    now,
    parts,
  }: { readonly now: number; readonly parts: Readonly<Partial<Record<Part, string | undefined>>> },
): string {
  const texts = Object.entries(parts).flatMap(([name, text]) =>
    text === undefined ? [] : `"${name}":${text}`,
  );
  return `{"kind":"${kind}","now":${now}${texts.map((text) => `,${text}`).join("")}}`;
}

function composeList(texts: Iterable<string>): string {
  return `[${[...texts].join(",")}]`;
}

/** Registers metrics of the feed, which are read at each scrape. */
export function registerFeedMetrics(metrics: Metrics, { load }: Pick<LiveFeed, "load">): void {
  const count = { name: "kindling_feed_followers", help: "Subscribers of the dashboard feed" };
  metrics.gauge(count, () => [[{}, load().subscribers]]);
  const held = {
    name: "kindling_feed_held_bytes",
    help: "Length of feed messages buffered for subscribers",
  };
  metrics.gauge(held, () => [[{}, load().bufferedLength]]);
}
