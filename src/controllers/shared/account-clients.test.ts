import { expect, test, vi } from "vitest";
import { createClient } from "../../client/api/create-client.ts";
import { createScriptedTransport, type ScriptedResponse } from "../../client/transport/transport.fixture.ts";
import { TransportError } from "../../client/transport/transport.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createAccountToken, renewAtMs } from "./account-clients.ts";

const minuteMs = 60_000;

test.each([
  { lifetimeMs: 60 * minuteMs, afterMs: 48 * minuteMs },
  { lifetimeMs: 10 * minuteMs, afterMs: 8 * minuteMs },
  // The local clock is ahead of the server's.
  { lifetimeMs: minuteMs, afterMs: 8 * minuteMs },
  { lifetimeMs: -minuteMs, afterMs: 8 * minuteMs },
])("renews a token with $lifetimeMs ms left after $afterMs ms", ({ lifetimeMs, afterMs }) => {
  expect(renewAtMs(5, 5 + lifetimeMs)).toBe(5 + afterMs);
});

const notFound: ScriptedResponse = {
  status: 404,
  body: { kind: "Status", status: "Failure", reason: "NotFound", code: 404, message: "there is none" },
};

/** Issues tokens t1, t2, …; `answer` may return another response first. */
function start(answer: (method: string, path: string) => ScriptedResponse | undefined = () => undefined) {
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

test("requests one token for concurrent callers and renews it when a fifth of its lifetime is left", async () => {
  const { clock, token, asked, requests } = start();
  expect(await Promise.all([token.get(), token.get(), token.get()])).toEqual(["t1", "t1", "t1"]);
  expect(JSON.parse(requests[0]?.body ?? "")).toMatchObject({ spec: { expirationSeconds: 3_600 } });
  await clock.advance(48 * minuteMs - 1);
  expect(await token.get()).toBe("t1");
  expect(asked()).toEqual([tokenPath]);
  await clock.advance(1);
  expect(await token.get()).toBe("t2");
});

test("creates a missing service account", async () => {
  let made = false;
  const { token, asked } = start((_, path) => {
    if (path.endsWith("/serviceaccounts")) made = true;
    return made ? undefined : notFound;
  });
  expect(await token.get()).toBe("t1");
  expect(asked()).toEqual([tokenPath, "POST /api/v1/namespaces/kube-system/serviceaccounts", tokenPath]);
});

test("keeps using the last token until it expires when renewal fails", async () => {
  let down = false;
  const { clock, token, logger, asked } = start(() => (down ? notFound : undefined));
  expect(await token.get()).toBe("t1");
  down = true;
  await clock.advance(50 * minuteMs);
  expect(await token.get()).toBe("t1");
  expect(logger.warn).toHaveBeenCalledTimes(1);
  const before = asked().length;
  // The renewal is not retried with every request.
  expect(await token.get()).toBe("t1");
  expect(asked()).toHaveLength(before);
  await clock.advance(10 * minuteMs);
  // Not a status of the API: a caller would take a NotFound for the object it requested.
  await expect(token.get()).rejects.toThrow(TransportError);
  down = false;
  expect(await token.get()).toBe("t2");
});

test("discards a rejected token but not a newer one", async () => {
  const { clock, token } = start();
  const shownAt = clock.now();
  expect(await token.get()).toBe("t1");
  token.invalidate(shownAt);
  await clock.advance(1_000);
  expect(await token.get()).toBe("t2");
  token.invalidate(shownAt);
  expect(await token.get()).toBe("t2");
});

test("stops requesting tokens when the controllers stop", async () => {
  const { token, stop } = start();
  stop.abort(new Error("stopped"));
  await expect(token.get()).rejects.toThrow("stopped");
});
