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
/** Nobody who reads takes longer for one message. */
const drainMs = 30_000;

/** Messages as server-sent events, until the client is gone, is too slow, or may not look any more. */
export async function sendFeed(response: ServerResponse, options: SendFeedOptions): Promise<void> {
  const { messages, clock, signal } = options;
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write("retry: 2000\n\n");
  const beating = beat(response, options);
  try {
    for await (const message of messages) {
      // JSON has no line breaks of its own.
      if (response.write(`data: ${message}\n\n`)) continue;
      await withDeadline({ clock, timeoutMs: drainMs, signal }, (limited) =>
        once(response, "drain", { signal: limited }),
      );
    }
  } catch {
    // Gone, or too slow to be waited for.
  } finally {
    response.destroy();
    await beating;
  }
}

/** Says now and then that it is still there, so that neither end nor what is between takes silence for the end. */
async function beat(
  response: ServerResponse,
  { isStillAllowed, clock, signal }: SendFeedOptions,
): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(heartbeatMs, signal);
      if (!(await isStillAllowed())) return void response.destroy();
      if (!response.writableNeedDrain) response.write(": still here\n\n");
    }
  } catch {
    // The client is gone.
  }
}
