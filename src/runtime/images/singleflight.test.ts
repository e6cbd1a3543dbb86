import { expect, test } from "vitest";
import { createSingleflight } from "./singleflight.ts";

function deferred() {
  let resolve: (value: string) => void = () => {};
  const promise = new Promise<string>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test("callers of one key share the work and its result", async () => {
  const shared = createSingleflight<string, string>();
  const work = deferred();
  let begun = 0;
  const join = () =>
    shared.join("k", {
      signal: new AbortController().signal,
      begin: () => ({ state: `state ${++begun}`, result: work.promise }),
    });
  const [a, b] = [join(), join()];
  work.resolve("done");
  expect([a.state, b.state, await a.result, await b.result]).toEqual(["state 1", "state 1", "done", "done"]);
  expect([a.joined, b.joined]).toEqual([false, true]);
  expect(shared.size()).toBe(0);
});

test("rejects an aborted caller immediately, cancels the work with the last caller, and starts new work for the next", async () => {
  const shared = createSingleflight<number, string>();
  const signals: AbortSignal[] = [];
  const join = (signal: AbortSignal) =>
    shared.join("k", {
      signal,
      begin: (own) => ({ state: signals.push(own), result: deferred().promise }),
    });
  const aborts = [new AbortController(), new AbortController()];
  const joined = aborts.map(({ signal }) => join(signal));
  aborts[0]?.abort(new Error("first goes"));
  await expect(joined[0]?.result).rejects.toThrow("first goes");
  expect(signals[0]?.aborted).toBe(false);
  aborts[1]?.abort(new Error("second goes"));
  await expect(joined[1]?.result).rejects.toThrow("second goes");
  expect(signals[0]?.aborted).toBe(true);
  expect(join(new AbortController().signal).state).toBe(2);
});
