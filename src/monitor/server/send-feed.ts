import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { withDeadline } from "../../client/with-deadline.ts";
import type { Clock } from "../../lib/clock.ts";

interface SendFeedOptions {
  readonly messages: AsyncIterable<string>;
  /** Asked again and again: rights can end while somebody looks. */
  isStillAllowed(): Promise<boolean>;
  readonly clock: Clock;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

const heartbeatMs = 15_000;
/** Nobody who reads takes longer for one piece. */
const drainMs = 30_000;
/** What is on its way to one client is never more: a snapshot is far longer, and everybody shares its text. */
const pieceLength = 65_536;

/** Messages as server-sent events, until the client is gone, is too slow, or may not look any more. */
export async function sendFeed(response: ServerResponse, options: SendFeedOptions): Promise<void> {
  const { messages, clock, signal } = options;
  let isWithinMessage = false;

  async function write(text: string): Promise<void> {
    if (response.write(text)) return;
    await withDeadline({ clock, timeoutMs: drainMs, signal }, (limited) =>
      once(response, "drain", { signal: limited }),
    );
  }

  /** Says now and then that it is still there, so that neither end nor what is between takes silence for the end. */
  async function beat(): Promise<void> {
    for (;;) {
      await clock.sleep(heartbeatMs, signal);
      if (!(await options.isStillAllowed())) return void response.destroy();
      if (!isWithinMessage && !response.writableNeedDrain) response.write(": still here\n\n");
    }
  }

  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write("retry: 2000\n\n");
  // It ends when the client is gone.
  const beating = beat().catch(() => {});
  try {
    for await (const message of messages) {
      isWithinMessage = true;
      // JSON has no line breaks of its own.
      await write("data: ");
      for (const piece of piecesOf(message)) await write(piece);
      await write("\n\n");
      isWithinMessage = false;
    }
  } catch {
    // Gone, or too slow to be waited for.
  } finally {
    response.destroy();
    await beating;
  }
}

/** Each is encoded by itself: no character may be cut in half. */
export function* piecesOf(text: string, length = pieceLength): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const isCut = /[\ud800-\udbff]/.test(text.charAt(from + length - 1));
    const to = from + length + (isCut ? 1 : 0);
    yield text.slice(from, to);
    from = to;
  }
}
