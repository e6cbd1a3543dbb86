import { setMaxListeners } from "node:events";
import type { Client } from "../../client/client.ts";
import { keyOf } from "../../client/object-key.ts";
import { type BackoffPolicy, retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { Monitor } from "../monitor.ts";
import { createAudience } from "./audience.ts";
import { composeList, composeMessage } from "./compose-message.ts";
import type { FinishedView, SloView } from "./feed-message.ts";
import { createFeedSources } from "./feed-sources.ts";
import { createKubeletAnswers } from "./kubelet-answers.ts";
import { createRecentEvents } from "./recent-events.ts";
import { createStartingViews } from "./starting-views.ts";
import { createStatefulSetViews } from "./stateful-set-views.ts";
import { viewFinished } from "./view/view-finished.ts";
import { createWholeLists } from "./whole-lists.ts";

export interface FeedDeps {
  readonly monitor: Monitor;
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The cluster's address, as the page shows it. */
  readonly server: string;
  slos(): readonly SloView[];
}

/** What happens in the cluster, as feed-message.ts says, worked out once for all who look, and not at all for nobody. */
export interface LiveFeed {
  /** Messages as JSON until the signal aborts or the follower is dismissed; undefined when too many look already. */
  follow(signal: AbortSignal, onDismissed?: () => void): AsyncIterable<string> | undefined;
  /** How many look, and how much of what was sent is not read yet. */
  load(): { readonly followers: number; readonly heldLength: number };
  /** Until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** What changes within this time is told together. */
const batchMs = 200;
const mostFollowers = 100;
/** Messages for one that reads too slowly; after that it gets a snapshot instead. */
const mostWaiting = 8;
/** Ten snapshots of a cluster in trouble. */
const mostHeldLength = 64 * 2 ** 20;
const mostStarting = 5_000;
const mostEvents = 200;
/** How long the first who look wait for the first lists. */
const patienceMs = 5_000;
const versionPolicy: BackoffPolicy = { initialMs: 500, maxMs: 30_000, factor: 2, resetAfterMs: 60_000 };
/** Views worked out in one turn: others want the event loop too. */
const viewsPerTurn = 100;

/** To be created before the monitor runs. */
export function createFeed(deps: FeedDeps): LiveFeed {
  const { monitor, client, clock, logger } = deps;
  const wakeUp = createWakeUp();
  const audience = createAudience({
    capacity: mostWaiting,
    mostFollowers,
    mostHeldLength,
    onWanting: wakeUp.wake,
  });
  const events = createRecentEvents(mostEvents);
  const { sets, nodes, ...sources } = createFeedSources({ client, clock, logger, onEvent: events.add });
  const answers = createKubeletAnswers({ client, clock, logger, onAnswer: (uid) => starting.lookAgain(uid) });
  const starting = createStartingViews({ answers, logger, capacity: mostStarting });
  const setViews = createStatefulSetViews({ monitor, sets, logger, findStarting: starting.find });
  const lists = createWholeLists({ monitor, nodes, slos: deps.slos });
  let finished: FinishedView[] = [];
  let version = "";
  let isWatched = false;

  monitor.onEvent(events.add);
  sets.onChange(({ object }) => isWatched && setViews.lookAgain(keyOf(object)));
  monitor.onStarting((change) => {
    if (!isWatched) return;
    starting.notice(change);
    if (change.kind === "changed") {
      const { namespace, ownerKind, ownerName } = change.starting.start.class;
      if (ownerKind === "StatefulSet") setViews.lookAgain(`${namespace}/${ownerName}`);
      return;
    }
    const view = change.finished && viewFinished(change.finished);
    if (view) finished.push(view);
  });

  function begin(): void {
    isWatched = true;
    starting.reset(monitor.starting());
  }

  function end(): void {
    isWatched = false;
    starting.reset([]);
    answers.clear();
    setViews.clear();
    lists.clear();
    finished = [];
  }

  async function refresh(signal: AbortSignal): Promise<void> {
    answers.askDue(signal);
    while (starting.update(clock.now(), viewsPerTurn)) await nextTurn();
    const now = clock.now();
    setViews.update(now);
    const change = composeChange(now);
    audience.publish({ change, snapshot: () => composeSnapshot(now) });
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

  /** Somebody comes: everything is worked out once. As long as somebody is there: what changed. */
  async function serve(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = wakeUp.next();
      const isWanted = audience.size() > 0;
      if (isWanted && !isWatched) begin();
      if (!isWanted && isWatched) end();
      // Metrics and objectives go on, whatever is wrong with the page.
      if (isWanted) await refresh(signal).catch((error) => logger.error("the feed failed", { error }));
      await wait.orAt(isWanted ? clock.now() + batchMs : Number.POSITIVE_INFINITY, { clock, signal });
    }
  }

  async function readVersion(signal: AbortSignal): Promise<void> {
    const read = () => client.request<{ gitVersion?: unknown }>("GET", "/version", { signal });
    const onFailure = (error: unknown) => logger.debug("the cluster does not tell its version", { error });
    const { gitVersion } = await retry(read, { policy: versionPolicy, clock, signal, onFailure });
    if (typeof gitVersion === "string") version = gitVersion;
  }

  /** Whoever is there from the first moment shall not see an empty cluster; nor wait for all of a huge one. */
  async function serveWhenKnown(versionRead: Promise<void>, signal: AbortSignal): Promise<void> {
    const all = Promise.allSettled([versionRead, monitor.synced, sets.synced, nodes.synced]);
    await Promise.race([all, clock.sleep(patienceMs, signal)]);
    await serve(signal);
  }

  return {
    follow: audience.follow,
    load: () => ({ followers: audience.size(), heldLength: audience.heldLength() }),
    async run(signal) {
      // Every question to a kubelet waits for it too.
      setMaxListeners(0, signal);
      const unlessStopped = (error: unknown) => {
        if (!signal.aborted) throw error;
      };
      const versionRead = readVersion(signal).catch(unlessStopped);
      const serving = serveWhenKnown(versionRead, signal).catch(unlessStopped);
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
