import { expect, test } from "vitest";
import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { followFeed, reconnectDelayMs } from "./follow-feed.ts";
import { LoggedOutError } from "./open-feed.ts";

test.each([
  { failures: 1, random: 1, delay: 500 },
  { failures: 1, random: 0, delay: 350 },
  { failures: 3, random: 1, delay: 2_000 },
  { failures: 9, random: 1, delay: 15_000 },
  { failures: 5_000, random: 1, delay: 15_000 },
])("waits $delay ms after $failures failures", ({ failures, random, delay }) => {
  expect(reconnectDelayMs(failures, random)).toBe(delay);
});

/** Each attempt gives its messages, then ends or fails; after the last one the page is closed. */
async function follow(attempts: readonly { readonly messages: number; readonly error?: string }[]) {
  const log: string[] = [];
  const end = new AbortController();
  const left = [...attempts];
  let now = 0;
  await followFeed({
    async *open() {
      const attempt = left.shift();
      for (let i = 0; i < (attempt?.messages ?? 0); i++)
        yield { kind: "change", now: i } satisfies FeedMessage;
      if (attempt?.error) throw new Error(attempt.error);
    },
    onMessage: ({ now: at }) => log.push(`message ${at}`),
    onConnection: (connection) =>
      log.push(
        connection.kind === "lost"
          ? `lost since ${connection.sinceMs}, again at ${connection.retryAtMs}: ${connection.reason}`
          : connection.kind,
      ),
    nowMs: () => now,
    async sleep(ms) {
      now += ms;
      if (left.length === 0) end.abort();
    },
    random: () => 1,
    signal: end.signal,
  });
  return log;
}

test("is live after the first message and increases the delay with each failure", async () => {
  expect(
    await follow([{ messages: 2 }, { messages: 0, error: "refused" }, { messages: 0, error: "refused" }]),
  ).toEqual([
    "connecting",
    "message 0",
    "live",
    "message 1",
    "lost since 0, again at 500: The server closed the connection.",
    "lost since 0, again at 1500: refused",
    "lost since 0, again at 3500: refused",
  ]);
});

test("resets the delay after a successful connection", async () => {
  const log = await follow([
    { messages: 0, error: "a" },
    { messages: 0, error: "b" },
    { messages: 1, error: "c" },
  ]);
  expect(log.slice(-3)).toEqual(["message 0", "live", "lost since 1500, again at 2000: c"]);
});

test("reports that the user has to log in", async () => {
  const lost: boolean[] = [];
  const end = new AbortController();
  const errors = [new Error("away"), new LoggedOutError("Your session has ended.")];
  await followFeed({
    // biome-ignore lint/correctness/useYield: it fails before the first message.
    async *open() {
      throw errors.shift();
    },
    onMessage() {},
    onConnection: (connection) => connection.kind === "lost" && lost.push(connection.isLoggedOut),
    nowMs: () => 0,
    async sleep() {
      if (errors.length === 0) end.abort();
    },
    random: () => 1,
    signal: end.signal,
  });
  expect(lost).toEqual([false, true]);
});
