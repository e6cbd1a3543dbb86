import { expect, test } from "vitest";
import type { PullProgress } from "./image-puller.ts";
import { createProgressBoard } from "./progress-board.ts";

const pull = (image: string, offset = 0): PullProgress => ({
  image,
  container: "web",
  startedAt: "2030-01-01T00:00:00.000Z",
  offset,
  total: 10,
  layers: [],
});
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("shows a pod's pulls as long as they run", () => {
  const board = createProgressBoard();
  const first = board.post("pod", pull("a"));
  const second = board.post("pod", pull("b"));
  board.post("other", pull("c"));
  first.update({ offset: 5, total: 10, layers: [] });
  expect(board.progress("pod")).toEqual([pull("a", 5), pull("b")]);
  first.remove();
  first.remove();
  expect(board.progress("pod")).toEqual([pull("b")]);
  second.remove();
  expect(board.progress("pod")).toEqual([]);
});

test("a follower gets a snapshot, then each change, until its signal aborts", async () => {
  const board = createProgressBoard();
  const stop = new AbortController();
  const seen: (readonly PullProgress[])[] = [];
  const following = (async () => {
    for await (const now of board.follow("pod", stop.signal)) seen.push(now);
  })();
  await settle();
  const posted = board.post("pod", pull("a"));
  board.post("other", pull("x"));
  await settle();
  // Two changes at once: the newer says all.
  posted.update({ offset: 3, total: 10, layers: [] });
  posted.update({ offset: 4, total: 10, layers: [] });
  await settle();
  posted.remove();
  await settle();
  stop.abort();
  await following;
  expect(seen).toEqual([[], [pull("a")], [pull("a", 4)], []]);
});

test("a follower whose signal is aborted already gets nothing", async () => {
  const board = createProgressBoard();
  for await (const now of board.follow("pod", AbortSignal.abort())) expect(now).toBe("never");
});
