import { StatusError } from "../../api/meta/status-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ListOptions, ObjectList, WatchEvent, WatchOptions } from "../api/client.ts";
import { TransportError } from "../transport/transport.ts";
import type { ListUpdate } from "./object-cache.ts";

interface Versioned {
  readonly metadata: { readonly resourceVersion?: string };
}

export interface ReflectorDeps<T> {
  list(
    options: Pick<ListOptions, "limit" | "continue" | "resourceVersion" | "resourceVersionMatch" | "signal">,
  ): Promise<ObjectList<T>>;
  watch(
    options: Pick<WatchOptions, "resourceVersion" | "timeoutSeconds" | "onOpen" | "signal">,
  ): AsyncIterable<WatchEvent<T>>;
  cache: { put(object: T): void; remove(object: T): void; beginList(): ListUpdate<T> };
  /** Called after each complete list. */
  onListed(): void;
  /** Called when the server has answered, and when it could not be reached. Repeats are possible. */
  onConnection?(state: ConnectionState): void;
  clock: Clock;
  logger: Logger;
  /** Resource name for log messages. */
  resource: string;
  random?: () => number;
}

/** `connected`: the server has answered, if only with a refusal. `lost`: it could not be reached, or failed. */
export type ConnectionState = "connected" | "lost";

/**
 *     first ──────┐ listed                  revision expired
 *     behind ─────┼────────▶ watching ────────────────────────────▶ behind
 *     lost ───────┘
 *     (an expired paged list, or a server with an older revision, leads to `lost`)
 */
export type Position =
  /** Initial state: any revision is acceptable, so the list is served from the server's cache. */
  | { readonly kind: "first" }
  | { readonly kind: "watching"; readonly revision: string }
  /** The watched revision expired: list again, not older than that revision. */
  | { readonly kind: "behind"; readonly revision: string }
  /** List the current state without a revision and without pages. */
  | { readonly kind: "lost" };

const pageSize = 500;
/** Servers send bookmarks about once a minute: after this time without events the connection is considered dead. */
const silenceLimitMs = 180_000;
/** A watch that ends sooner than this without an event counts as a failure. */
const shortestWatchMs = 1_000;

/** Keeps a cache consistent with the server until the signal aborts. */
export async function reflect<T extends Versioned>(
  deps: ReflectorDeps<T>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, resource, random = Math.random } = deps;
  let position: Position = { kind: "first" };
  let failures = 0;
  let isReachable = true;
  const advance = (revision: string) => {
    position = { kind: "watching", revision };
    failures = 0;
  };

  while (!signal.aborted) {
    try {
      if (position.kind !== "watching") {
        position = { kind: "watching", revision: await applyList(deps, position, signal) };
        deps.onConnection?.("connected");
        deps.onListed();
      }
      await applyWatch(deps, position.revision, { signal, advance });
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      deps.onConnection?.(stateAfter(error));
      position = afterFailure(position, error);
      const wasReachable = isReachable;
      isReachable = !(error instanceof TransportError && error.unreachable);
      // A server that has returned may refuse the first requests: that is not the continuation of the outage.
      failures = isReachable && !wasReachable ? 1 : failures + 1;
      // A single expired revision is normal; repeated ones are failures.
      if (isExpired(error) && failures === 1) continue;
      const delayMs = reconnectDelayMs(failures, { isReachable, random });
      const log = isWorthWarning(failures, isReachable) ? logger.warn : logger.debug;
      log("the list or watch failed; retrying", { resource, error, delayMs: Math.round(delayMs) });
      await clock.sleep(delayMs, signal).catch(() => {});
    }
  }
}

/** Applies watch events until the server ends the watch. */
async function applyWatch<T extends Versioned>(
  deps: ReflectorDeps<T>,
  from: string,
  { signal, advance }: { signal: AbortSignal; advance: (revision: string) => void },
): Promise<void> {
  const { clock, cache } = deps;
  const startedAt = clock.now();
  let received = false;
  for await (const event of watchWithSilenceLimit(deps, from, signal)) {
    received = true;
    if (event.type === "BOOKMARK") {
      advance(event.resourceVersion);
      continue;
    }
    if (event.type === "DELETED") cache.remove(event.object);
    else cache.put(event.object);
    advance(event.object.metadata.resourceVersion ?? from);
  }
  if (!received && clock.now() - startedAt < shortestWatchMs)
    throw new TransportError("the watch ended immediately");
}

/** State after a failed list or watch. */
export function afterFailure(position: Position, error: unknown): Position {
  if (!isExpired(error) && !isRevisionTooLarge(error)) return position;
  return position.kind === "watching" && isExpired(error)
    ? { kind: "behind", revision: position.revision }
    : { kind: "lost" };
}

function stateAfter(error: unknown): ConnectionState {
  return error instanceof StatusError && error.code < 500 ? "connected" : "lost";
}

function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.code === 410;
}

/** The server's revision is older than ours: it was restored from a backup, or lags behind another server. */
function isRevisionTooLarge(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    (error.details?.causes ?? []).some((cause) => cause.reason === "ResourceVersionTooLarge")
  );
}

/** List parameters for a state. */
export function listOptions(position: Exclude<Position, { kind: "watching" }>) {
  switch (position.kind) {
    case "first":
      return { resourceVersion: "0", limit: pageSize };
    case "behind":
      return {
        resourceVersion: position.revision,
        resourceVersionMatch: "NotOlderThan",
        limit: pageSize,
      } as const;
    case "lost":
      // Without pages: their common revision could expire before the last page.
      return {};
  }
}

/** Applies a list page by page, to avoid a second copy of all objects. Returns the list's revision. */
async function applyList<T>(
  { list, cache }: ReflectorDeps<T>,
  position: Exclude<Position, { kind: "watching" }>,
  signal: AbortSignal,
): Promise<string> {
  const options = listOptions(position);
  const update = cache.beginList();
  let page = await list({ ...options, signal });
  for (;;) {
    for (const object of page.items) update.add(object);
    if (!page.continue) break;
    page = await list({ limit: options.limit, continue: page.continue, signal });
  }
  update.complete();
  return page.resourceVersion;
}

/** Watches, and fails when no event or bookmark arrives for a while. */
async function* watchWithSilenceLimit<T>(
  { watch, onConnection, clock, random = Math.random }: ReflectorDeps<T>,
  resourceVersion: string,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>> {
  const watching = new AbortController();
  const ended = new AbortController();
  const stop = () => watching.abort(signal.reason);
  let receivedAt = clock.now();

  async function guard(): Promise<void> {
    for (let leftMs = silenceLimitMs; leftMs > 0; leftMs = receivedAt + silenceLimitMs - clock.now()) {
      await clock.sleep(leftMs, ended.signal);
    }
    watching.abort(new TransportError(`the watch received no event for ${silenceLimitMs / 1_000} s`));
  }

  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  guard().catch(() => {});
  try {
    // Random timeouts distribute clients over servers that were added later.
    const timeoutSeconds = Math.round(300 * (1 + random()));
    const onOpen = () => onConnection?.("connected");
    for await (const event of watch({ resourceVersion, timeoutSeconds, onOpen, signal: watching.signal })) {
      receivedAt = clock.now();
      yield event;
    }
  } finally {
    ended.abort();
    signal.removeEventListener("abort", stop);
  }
}

/** Number of quick retries, which cover the restart of a server within about a second. */
const quickRetries = 6;
const quickRetryMs = 200;
const maxRetryMs = 30_000;
/** Maximum delay while no server listens: an attempt costs nothing then, and the watch is back soon after the server. */
const maxUnreachableRetryMs = 1_600;

/**
 * Delay after a number of consecutive failures: about a second of quick retries, then 0.8 s to 30 s, or to 1.6 s while the
 * server cannot be reached. With jitter, so that clients of a restarted server do not reconnect simultaneously.
 */
export function reconnectDelayMs(
  failures: number,
  { isReachable, random }: { readonly isReachable: boolean; readonly random: () => number },
): number {
  if (failures <= quickRetries) return quickRetryMs * (0.5 + random() / 2);
  const maxMs = isReachable ? maxRetryMs : maxUnreachableRetryMs;
  const baseMs = Math.min(maxMs, 1_600 * 2 ** Math.min(failures - quickRetries - 1, 16));
  return baseMs * (0.5 + random() / 2);
}

/** Quick retries cover a restart. Of the many attempts of a longer outage, about one in half a minute is logged as a warning. */
function isWorthWarning(failures: number, isReachable: boolean): boolean {
  const late = failures - quickRetries - 1;
  return late >= 0 && (isReachable || late % 24 === 0);
}
