import { expect, test, vi } from "vitest";
import { createClient } from "../client/create-client.ts";
import { createScriptedTransport, type ScriptedAnswer } from "../client/transport.fixture.ts";
import { TransportError } from "../client/transport.ts";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock } from "../lib/manual-clock.ts";
import { createAccountToken, renewAtMs } from "./account-token.ts";

const minuteMs = 60_000;

test.each([
  { lifetimeMs: 60 * minuteMs, afterMs: 48 * minuteMs },
  { lifetimeMs: 10 * minuteMs, afterMs: 8 * minuteMs },
  // Our clock goes ahead of the server's.
  { lifetimeMs: minuteMs, afterMs: 8 * minuteMs },
  { lifetimeMs: -minuteMs, afterMs: 8 * minuteMs },
])("one that has $lifetimeMs ms left is renewed after $afterMs ms", ({ lifetimeMs, afterMs }) => {
  expect(renewAtMs(5, 5 + lifetimeMs)).toBe(5 + afterMs);
});

const notFound: ScriptedAnswer = {
  status: 404,
  body: { kind: "Status", status: "Failure", reason: "NotFound", code: 404, message: "there is none" },
};

/** Tokens are called t1, t2, …; `answer` may answer something else first. */
function start(answer: (method: string, path: string) => ScriptedAnswer | undefined = () => undefined) {
  const clock = createManualClock();
  let issued = 0;
  const { transport, requests } = createScriptedTransport(({ method, path }) => {
    const other = answer(method, path);
    if (other) return other;
    if (!path.endsWith("/token")) return { body: {} };
    issued++;
    const expirationTimestamp = new Date(clock.now() + 60 * minuteMs).toISOString();
    return { body: { status: { token: `t${issued}`, expirationTimestamp } } };
  });
  const stop = new AbortController();
  const logger = { ...silentLogger, warn: vi.fn() };
  const client = createClient({ transport, clock });
  const account = { namespace: "kube-system", name: "x-controller" };
  const token = createAccountToken({ client, clock, logger, signal: stop.signal }, account);
  const asked = () => requests.map(({ method, path }) => `${method} ${path}`);
  return { clock, token, logger, stop, requests, asked };
}

const tokenPath = "POST /api/v1/namespaces/kube-system/serviceaccounts/x-controller/token";

test("it is asked for once by all who wait, and again when a fifth of its life is left", async () => {
  const { clock, token, asked, requests } = start();
  expect(await Promise.all([token.get(), token.get(), token.get()])).toEqual(["t1", "t1", "t1"]);
  expect(JSON.parse(requests[0]?.body ?? "")).toMatchObject({ spec: { expirationSeconds: 3_600 } });
  await clock.advance(48 * minuteMs - 1);
  expect(await token.get()).toBe("t1");
  expect(asked()).toEqual([tokenPath]);
  await clock.advance(1);
  expect(await token.get()).toBe("t2");
});

test("an account that is missing is made", async () => {
  let made = false;
  const { token, asked } = start((_, path) => {
    if (path.endsWith("/serviceaccounts")) made = true;
    return made ? undefined : notFound;
  });
  expect(await token.get()).toBe("t1");
  expect(asked()).toEqual([tokenPath, "POST /api/v1/namespaces/kube-system/serviceaccounts", tokenPath]);
});

test("while none can be had the last one is used, for as long as it is good", async () => {
  let down = false;
  const { clock, token, logger, asked } = start(() => (down ? notFound : undefined));
  expect(await token.get()).toBe("t1");
  down = true;
  await clock.advance(50 * minuteMs);
  expect(await token.get()).toBe("t1");
  expect(logger.warn).toHaveBeenCalledTimes(1);
  const before = asked().length;
  // Not with every request.
  expect(await token.get()).toBe("t1");
  expect(asked()).toHaveLength(before);
  await clock.advance(10 * minuteMs);
  // No answer of the API's: that something else is not there would be believed.
  await expect(token.get()).rejects.toThrow(TransportError);
  down = false;
  expect(await token.get()).toBe("t2");
});

test("one that was refused is not shown again, a newer one is", async () => {
  const { clock, token } = start();
  const shownAt = clock.now();
  expect(await token.get()).toBe("t1");
  token.refused(shownAt);
  await clock.advance(1_000);
  expect(await token.get()).toBe("t2");
  token.refused(shownAt);
  expect(await token.get()).toBe("t2");
});

test("nobody asks any more when the controllers stop", async () => {
  const { token, stop } = start();
  stop.abort(new Error("stopped"));
  await expect(token.get()).rejects.toThrow("stopped");
});
