import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { createEventReader } from "./read-events.ts";

/** The server says something, if only a comment, far more often than this. */
const silenceMs = 45_000;

/** The server does not know who asks: only logging in helps. */
export class LoggedOutError extends Error {}

export interface OpenFeedOptions {
  readonly signal: AbortSignal;
  /** Whether the server knows the page by a session that it can end. */
  onSession(isOpen: boolean): void;
}

/** By fetch and not by EventSource, which tells neither why it failed nor that nothing comes any more. */
export async function* openFeed(
  url: string,
  { signal, onSession }: OpenFeedOptions,
): AsyncGenerator<FeedMessage> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => silence.abort(new Error(`Nothing was heard from the server for ${silenceMs / 1_000} seconds.`)),
      silenceMs,
    );
  };
  heard();
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
      heard();
      for (const data of read(chunk.value)) yield parseMessage(data);
    }
  } finally {
    clearTimeout(timer);
    // Leaving the loop early must not leave the connection open.
    silence.abort();
  }
}

function refusal(status: number): Error {
  if (status === 401) return new LoggedOutError("You are not logged in any more.");
  if (status === 403)
    return new Error("You may not see this cluster's pods any more: ask its administrator.");
  return new Error(`The server answered with status ${status}.`);
}

function parseMessage(data: string): FeedMessage {
  const message: unknown = JSON.parse(data);
  const known = typeof message === "object" && message !== null && "kind" in message && "now" in message;
  if (
    !known ||
    (message.kind !== "snapshot" && message.kind !== "change") ||
    typeof message.now !== "number"
  ) {
    throw new Error("The server speaks another version than this page: reload it.");
  }
  return message as FeedMessage;
}
