import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { type AwaitedTransfer, createTransfer, decideStall } from "./transfer.ts";

/** Requests of a transfer, which the test completes or fails. */
function openTransfer() {
  const clock = createManualClock(1_000);
  const transfer = createTransfer(() => clock.now());
  const requests: { signal: AbortSignal; resolve(response: string): void; reject(error: unknown): void }[] =
    [];
  const send = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      requests.push({ signal, resolve, reject });
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const caller = new AbortController();
  return {
    clock,
    transfer,
    requests,
    caller,
    send,
    result: () => transfer.request(send, caller.signal),
    aborted: () => requests.map(({ signal }) => signal.aborted),
  };
}

test.each([
  ["the second request", 1],
  ["the first request, which was only slow", 0],
])("3542-13 a restarted request succeeds with the response to %s", async (_name, winner) => {
  const { transfer, requests, result, aborted } = openTransfer();
  const response = result();
  transfer.restart();
  expect(aborted()).toEqual([false, false]);
  requests[winner]?.resolve("here");
  expect(await response).toBe("here");
  expect(aborted()).toEqual([winner !== 0, winner !== 1]);
});

test("3542-13 any number of restarts leaves two requests open", async () => {
  const { transfer, requests, result, aborted } = openTransfer();
  const response = result();
  for (let i = 0; i < 3; i++) transfer.restart();
  expect(aborted()).toEqual([true, true, false, false]);
  requests[3]?.resolve("here");
  expect(await response).toBe("here");
});

test("3542-13 an error of the newest request fails the transfer, one of its predecessor does not", async () => {
  const { transfer, requests, result, aborted } = openTransfer();
  const response = result();
  transfer.restart();
  requests[0]?.reject(new Error("old"));
  transfer.restart();
  requests[2]?.reject(new Error("newest"));
  await expect(response).rejects.toThrow("newest");
  expect(aborted()[1]).toBe(true);
});

test("a cancelled caller aborts all requests", async () => {
  const { transfer, caller, result, aborted } = openTransfer();
  const response = result();
  transfer.restart();
  caller.abort(new Error("cancelled"));
  await expect(response).rejects.toThrow("cancelled");
  expect(aborted()).toEqual([true, true]);
});

test("3542-13 a restart while a body is read aborts it and runs the attempt again", async () => {
  const { clock, transfer, requests, caller, send } = openTransfer();
  const attempts: AbortSignal[] = [];
  const body = transfer.attempt(async (signal) => {
    attempts.push(signal);
    await transfer.request(async () => "headers", signal);
    return send(signal);
  }, caller.signal);
  await clock.advance(0);
  transfer.restart();
  await clock.advance(0);
  expect(attempts.map(({ aborted }) => aborted)).toEqual([true, false]);
  requests[1]?.resolve("rest");
  expect(await body).toBe("rest");
});

test("3542-13 a restart between attempts sends nothing and still counts", async () => {
  const { clock, transfer, requests } = openTransfer();
  await clock.advance(5);
  transfer.restart();
  expect(transfer.restartedAtMs).toBe(1_005);
  expect(requests).toEqual([]);
});

const began = { waiting: true, lastAtMs: 0, restartedAtMs: 0, joined: false };
const joined = { ...began, joined: true };

const decide = (
  transfers: readonly AwaitedTransfer[],
  times: { timeoutMs?: number; sinceMs?: number; now: number },
) => decideStall(transfers, { timeoutMs: 10, sinceMs: 0, ...times });

test.each([
  ["fails after the timeout since the last byte", [{ ...began, lastAtMs: 5 }], 15],
  [
    "a byte of any layer resets the clock",
    [
      { ...began, lastAtMs: 5 },
      { ...began, lastAtMs: 9 },
    ],
    19,
  ],
  [
    "a byte of a layer that is complete by now counts too",
    [
      { ...began, lastAtMs: 5 },
      { ...began, waiting: false, lastAtMs: 9 },
    ],
    19,
  ],
])("3542-4 %s", (_name, transfers, failsAtMs) => {
  expect(decide(transfers, { now: failsAtMs - 1 })).toEqual({ kind: "wait", untilMs: failsAtMs });
  expect(decide(transfers, { now: failsAtMs })).toEqual({ kind: "fail" });
});

test.each([
  ["unpacking is not a stall", { ...began, waiting: false }, 10],
  ["a timeout of 0 never fails", { ...began, lastAtMs: 5 }, 0],
])("3542-4 %s", (_name, transfer, timeoutMs) => {
  expect(decide([transfer], { timeoutMs, now: 1_000 })).toEqual({ kind: "idle" });
});

test("3542-4 the time before a wait does not count", async () => {
  const clock = createManualClock();
  const transfer = createTransfer(() => clock.now());
  const kindAt = (now: number) => decide([{ ...transfer, joined: false }], { now }).kind;
  await clock.advance(1_000);
  await transfer.during(async () => {
    expect([kindAt(1_009), kindAt(1_010)]).toEqual(["wait", "fail"]);
    await clock.advance(5);
    transfer.touch();
    expect([kindAt(1_014), kindAt(1_015)]).toEqual(["wait", "fail"]);
  });
  expect(kindAt(2_000)).toBe("idle");
});

const restart = (...transfers: AwaitedTransfer[]) => ({ kind: "restart", transfers });
const silent = { ...joined, lastAtMs: 60 };

test.each<[string, AwaitedTransfer[], number, object]>([
  ["the silence before a caller joined does not count", [joined], 104, { kind: "wait", untilMs: 105 }],
  [
    "a transfer that another caller began is restarted at half of the timeout",
    [silent],
    105,
    restart(silent),
  ],
  [
    "no second restart follows within half of the timeout",
    [{ ...joined, restartedAtMs: 103 }],
    107,
    { kind: "wait", untilMs: 108 },
  ],
  ["after the whole timeout the caller fails", [{ ...joined, restartedAtMs: 105 }], 110, { kind: "fail" }],
  [
    "a byte of the restarted transfer resets the clock",
    [{ ...joined, restartedAtMs: 105, lastAtMs: 106 }],
    110,
    { kind: "wait", untilMs: 111 },
  ],
  [
    "a transfer that falls silent again is restarted again",
    [{ ...joined, restartedAtMs: 105, lastAtMs: 106 }],
    111,
    restart({ ...joined, restartedAtMs: 105, lastAtMs: 106 }),
  ],
  ["a transfer that the caller itself began is not restarted", [began], 106, { kind: "wait", untilMs: 110 }],
  [
    "a transfer that waits for nothing is not restarted",
    [began, { ...joined, waiting: false }],
    106,
    { kind: "wait", untilMs: 110 },
  ],
  ["only transfers of other callers are restarted", [began, silent], 106, restart(silent)],
  [
    "the caller checks again after half of the timeout, in case it joins a transfer meanwhile",
    [{ ...began, lastAtMs: 100 }],
    100,
    { kind: "wait", untilMs: 105 },
  ],
])("3542-13 %s", (_name, transfers, now, expected) => {
  expect(decide(transfers, { sinceMs: 100, now })).toEqual(expected);
});

test("3542-13 the caller with the smallest timeout restarts first, and its restart counts for the others", () => {
  const at = (timeoutMs: number, now: number, restartedAtMs = 0) =>
    decide([{ ...joined, restartedAtMs }], { timeoutMs, sinceMs: 100, now }).kind;
  expect([at(10, 105), at(16, 105)]).toEqual(["restart", "wait"]);
  expect([at(16, 108, 105), at(16, 112, 105), at(16, 113, 105), at(16, 116, 113)]).toEqual([
    "wait",
    "wait",
    "restart",
    "fail",
  ]);
});
