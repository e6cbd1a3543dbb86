import { StatusError } from "../api/status-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { ListOptions, ObjectList, WatchEvent, WatchOptions } from "./client.ts";
import type { ListIntake } from "./object-cache.ts";
import { quickMs, reconnectDelayMs } from "./reconnect-delay.ts";
import { TransportError } from "./transport.ts";

interface Versioned {
  readonly metadata: { readonly resourceVersion?: string };
}

export interface ReflectorDeps<T> {
  list(
    options: Pick<ListOptions, "limit" | "continue" | "resourceVersion" | "resourceVersionMatch" | "signal">,
  ): Promise<ObjectList<T>>;
  watch(
    options: Pick<WatchOptions, "resourceVersion" | "timeoutSeconds" | "signal">,
  ): AsyncIterable<WatchEvent<T>>;
  cache: { put(object: T): void; remove(object: T): void; beginList(): ListIntake<T> };
  /** After each complete list. */
  onListed(): void;
  clock: Clock;
  logger: Logger;
  /** For the log. */
  resource: string;
  random?: () => number;
}

/**
 *     first ──────┐ listed                  the past is forgotten
 *     behind ─────┼────────▶ watching ────────────────────────────▶ behind
 *     lost ───────┘
 *     (a list of pages that cannot be had to its end, or not as late as wanted, leads to `lost`)
 */
export type Position =
  /** Nothing is known yet: any state will do, the server's cache has one. */
  | { readonly kind: "first" }
  | { readonly kind: "watching"; readonly revision: string }
  /** What came after a revision is forgotten: the state is needed anew, but not an older one than that. */
  | { readonly kind: "behind"; readonly revision: string }
  /** Whatever the server calls the present, in one piece. */
  | { readonly kind: "lost" };

const pageSize = 500;
/** Servers send bookmarks about once a minute: after this long in silence nobody is there. */
const silenceLimitMs = 180_000;
/** A watch that ends sooner than this without a single event is a failure, not an ordinary end. */
const shortestWatchMs = 1_000;

/** Keeps a cache like the server's state, until the signal aborts. */
export async function reflect<T extends Versioned>(
  deps: ReflectorDeps<T>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, resource, random = Math.random } = deps;
  let position: Position = { kind: "first" };
  let failures = 0;
  const advance = (revision: string) => {
    position = { kind: "watching", revision };
    failures = 0;
  };

  while (!signal.aborted) {
    try {
      if (position.kind !== "watching") {
        position = { kind: "watching", revision: await takeList(deps, position, signal) };
        deps.onListed();
      }
      await follow(deps, position.revision, { signal, advance });
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      position = afterFailure(position, error);
      failures++;
      // A forgotten past is no sign of trouble; one that is forgotten again and again is.
      if (isExpired(error) && failures === 1) continue;
      const delayMs = reconnectDelayMs(failures, random);
      // Quick tries cover a restart: only what lasts longer is worth a line that people read.
      const log = delayMs > quickMs ? logger.warn : logger.debug;
      log("lost sight of the API, trying again", { resource, error, delayMs: Math.round(delayMs) });
      await clock.sleep(delayMs, signal).catch(() => {});
    }
  }
}

/** Takes in changes until the server ends the watch. */
async function follow<T extends Versioned>(
  deps: ReflectorDeps<T>,
  from: string,
  { signal, advance }: { signal: AbortSignal; advance: (revision: string) => void },
): Promise<void> {
  const { clock, cache } = deps;
  const startedAt = clock.now();
  let heard = false;
  for await (const event of watchAlive(deps, from, signal)) {
    heard = true;
    if (event.type === "BOOKMARK") {
      advance(event.resourceVersion);
      continue;
    }
    if (event.type === "DELETED") cache.remove(event.object);
    else cache.put(event.object);
    advance(event.object.metadata.resourceVersion ?? from);
  }
  if (!heard && clock.now() - startedAt < shortestWatchMs)
    throw new TransportError("the watch ended at once");
}

/** Where a failure leaves a reflector. */
export function afterFailure(position: Position, error: unknown): Position {
  if (!isExpired(error) && !isFromTheFuture(error)) return position;
  return position.kind === "watching" && isExpired(error)
    ? { kind: "behind", revision: position.revision }
    : { kind: "lost" };
}

function isExpired(error: unknown): boolean {
  return error instanceof StatusError && error.code === 410;
}

/** The server has not come as far as we have: it was restored from a backup, or lags behind one we spoke to before. */
function isFromTheFuture(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    (error.details?.causes ?? []).some((cause) => cause.reason === "ResourceVersionTooLarge")
  );
}

/** What a list must ask for. */
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
      // In pages it would be no better: their common revision may be forgotten before the last of them.
      return {};
  }
}

/** Page by page, so that a second copy of everything is never there; answers with the list's revision. */
async function takeList<T>(
  { list, cache }: ReflectorDeps<T>,
  position: Exclude<Position, { kind: "watching" }>,
  signal: AbortSignal,
): Promise<string> {
  const options = listOptions(position);
  const intake = cache.beginList();
  let page = await list({ ...options, signal });
  for (;;) {
    for (const object of page.items) intake.add(object);
    if (!page.continue) break;
    page = await list({ limit: options.limit, continue: page.continue, signal });
  }
  intake.complete();
  return page.resourceVersion;
}

/** A watch that ends itself, with an error, when the connection has died unnoticed. */
async function* watchAlive<T>(
  { watch, clock, random = Math.random }: ReflectorDeps<T>,
  resourceVersion: string,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>> {
  const watching = new AbortController();
  const ended = new AbortController();
  const stop = () => watching.abort(signal.reason);
  let heardAt = clock.now();

  async function guard(): Promise<void> {
    for (let leftMs = silenceLimitMs; leftMs > 0; leftMs = heardAt + silenceLimitMs - clock.now()) {
      await clock.sleep(leftMs, ended.signal);
    }
    watching.abort(new TransportError(`the watch was silent for ${silenceLimitMs / 1_000} s`));
  }

  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  guard().catch(() => {});
  try {
    // Watches end by themselves now and then, so that clients spread over servers that came later.
    const timeoutSeconds = Math.round(300 * (1 + random()));
    for await (const event of watch({ resourceVersion, timeoutSeconds, signal: watching.signal })) {
      heardAt = clock.now();
      yield event;
    }
  } finally {
    ended.abort();
    signal.removeEventListener("abort", stop);
  }
}
