import { expect, test } from "vitest";
import { TransportError } from "../../client/transport/transport.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { followRollout, type RolloutView } from "./rollout.ts";

const { signal } = new AbortController();

type Read = RolloutView["status"] | Error;
const progressing = (message: string): Read => ({ kind: "progressing", message });
const complete: Read = { kind: "complete", message: "done" };
const lost = () => new TransportError("no response");

/** Follows a rollout with these states, the last of them repeated, and returns the output and the error. */
async function follow(
  reads: readonly Read[],
  options: { watch?: boolean; timeoutMs?: number; tty?: boolean } = {},
) {
  let now = 0;
  let text = "";
  let count = 0;
  const read = async () => {
    const next = reads[Math.min(count++, reads.length - 1)];
    if (!next) throw new Error("no states");
    if (next instanceof Error) throw next;
    return { status: next, details: ["  web-0  new  available"] };
  };
  const output = {
    isTTY: options.tty ?? false,
    write: (part: string) => {
      text += part;
    },
  };
  const clock = {
    now: () => now,
    async sleep(ms: number) {
      now += ms;
    },
  };
  const { watch = true, timeoutMs = 0 } = options;
  const failure = await followRollout({ read, clock, output }, { watch, timeoutMs }, signal).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return { text, failure, seconds: now / 1_000, reads: count };
}

test("3541-12 prints each state once in a pipe and ends when the rollout is complete", async () => {
  const { text, failure } = await follow([
    progressing("1 of 3"),
    progressing("1 of 3"),
    progressing("2 of 3"),
    complete,
  ]);
  expect(text).toBe("1 of 3\n2 of 3\ndone\n");
  expect(failure).toBeUndefined();
});

test("3541-12 fails with the message of the failed rollout", async () => {
  const failed: Read = { kind: "failed", message: "no progress; pod web-2" };
  expect(await follow([progressing("1 of 3"), failed])).toMatchObject({
    text: "1 of 3\n",
    failure: "no progress; pod web-2",
  });
  expect(await follow([failed], { watch: false })).toMatchObject({ failure: "no progress; pod web-2" });
});

test("prints the state once with --watch=false", async () => {
  expect(await follow([progressing("1 of 3")], { watch: false })).toMatchObject({
    text: "1 of 3\n",
    failure: undefined,
    reads: 1,
  });
});

test("fails after --timeout with the last state", async () => {
  expect(await follow([progressing("1 of 3")], { timeoutMs: 2_500 })).toMatchObject({
    failure: "timed out after 2.5s (--timeout): 1 of 3",
    seconds: 2.5,
  });
});

test("continues after an outage of the API server, and gives up after a minute", async () => {
  expect(await follow([progressing("1 of 3"), lost(), lost(), complete])).toMatchObject({
    text: "1 of 3\ndone\n",
    failure: undefined,
  });
  expect(await follow([progressing("1 of 3"), lost()])).toMatchObject({
    failure: "no response",
    seconds: 60,
  });
  expect(await follow([lost()])).toMatchObject({ failure: "no response", seconds: 0 });
});

test("draws the pods in place on a terminal, without control characters", async () => {
  const { text } = await follow([progressing("1 of\u001b[2J 3"), complete], { tty: true });
  expect(text).toContain("1 of[2J 3\n  web-0  new  available\n");
  expect(text).toContain("\u001b[2A\r\u001b[Jdone\n");
});

test("3541-12 is stopped by a signal with an error", async () => {
  const stop = new AbortController();
  const clock = createManualClock(0);
  const read = async () => ({ status: { kind: "progressing", message: "1 of 3" } as const, details: [] });
  const following = followRollout(
    { read, clock, output: { write() {} } },
    { watch: true, timeoutMs: 0 },
    stop.signal,
  );
  stop.abort(new Error("stopped by a signal"));
  await expect(following).rejects.toThrow("stopped by a signal");
});
