import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";

/** Timeout without data; the server sends heartbeats far more often. */
const silenceMs = 45_000;

/** Error of a request without a valid session. */
export class LoggedOutError extends Error {}

export interface OpenFeedOptions {
  readonly signal: AbortSignal;
  /** Called with whether the user has a session and can log out. */
  onSession(isOpen: boolean): void;
}

/** Opens the feed with fetch, because EventSource reports neither the cause of a failure nor a silent connection. */
export async function* openFeed(
  url: string,
  { signal, onSession }: OpenFeedOptions,
): AsyncGenerator<FeedMessage> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const resetTimeout = () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => silence.abort(new Error(`The server sent nothing for ${silenceMs / 1_000} seconds.`)),
      silenceMs,
    );
  };
  resetTimeout();
  try {
    const response = await fetch(url, {
      headers: { accept: "text/event-stream" },
      cache: "no-store",
      signal: AbortSignal.any([signal, silence.signal]),
    }).catch((error: unknown) => {
      throw silence.signal.aborted ? error : new Error("The server cannot be reached.");
    });
    onSession(response.headers.has("kindling-session"));
    if (!response.ok || !response.body) throw refusal(response.status);
    const read = createEventReader();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      resetTimeout();
      for (const data of read(chunk.value)) yield parseMessage(data);
    }
  } finally {
    clearTimeout(timer);
    // Closes the connection when the consumer stops early.
    silence.abort();
  }
}

function refusal(status: number): Error {
  if (status === 401) return new LoggedOutError("Your session has ended.");
  if (status === 403)
    return new Error(
      "You are no longer allowed to see this dashboard. Ask a cluster administrator for access.",
    );
  return new Error(`The server responded with status ${status}.`);
}

function parseMessage(data: string): FeedMessage {
  const message: unknown = JSON.parse(data);
  const known = typeof message === "object" && message !== null && "kind" in message && "now" in message;
  if (
    !known ||
    (message.kind !== "snapshot" && message.kind !== "change") ||
    typeof message.now !== "number"
  ) {
    throw new Error("The server has another version than this page. Reload the page.");
  }
  return message as FeedMessage;
}

/**
 * Creates a parser of server-sent events. It is called with text as it arrives and returns the data of complete events.
 * Comments and fields other than `data` are ignored.
 */
export function createEventReader(): (text: string) => readonly string[] {
  // The pieces of a large line are joined once, at its end.
  let pieces: string[] = [];
  let data: string[] = [];
  const endLine = (line: string): string | undefined => {
    if (line === "") {
      const event = data.length > 0 ? data.join("\n") : undefined;
      data = [];
      return event;
    }
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    return undefined;
  };
  return (text) => {
    const events: string[] = [];
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = [...pieces, text.slice(start, end)].join("");
      pieces = [];
      const event = endLine(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event !== undefined) events.push(event);
      start = end + 1;
    }
    if (start < text.length) pieces.push(text.slice(start));
    return events;
  };
}
