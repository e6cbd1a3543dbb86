import { expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { createFakeApi } from "./fake-api.fixture.ts";
import { createServiceAccountTokens, refreshAtMs } from "./service-account-tokens.ts";

const hour = 3_600_000;
const never = new AbortController().signal;

test.each([
  ["an hour", hour, 0.8 * hour],
  ["ten minutes", hour / 6, (0.8 * hour) / 6],
  ["a day", 24 * hour, 19.2 * hour],
  ["a year", 365 * 24 * hour, 24 * hour],
])("a token of %s is renewed before it expires", (_name, lifetimeMs, afterMs) => {
  const issuedAt = 1_000_000;
  expect(refreshAtMs({ expiresAtMs: issuedAt + lifetimeMs, lifetimeMs })).toBe(issuedAt + afterMs);
});

function setUp() {
  const clock = createManualClock(1_000_000);
  const api = createFakeApi(clock);
  const tokens = createServiceAccountTokens({ client: api.client, clock, logger: silentLogger });
  return { clock, api, tokens };
}

test("a token is bound to its pod and cached until it is due", async () => {
  const { clock, api, tokens } = setUp();
  const pod = makePod({ serviceAccountName: "builder" });
  const request = { audience: "vault", expirationSeconds: 3_600 };
  expect(await tokens.get(pod, request, never)).toBe("token-1");
  expect(api.tokenRequests).toEqual([
    {
      path: "/api/v1/namespaces/shop/serviceaccounts/builder/token",
      spec: {
        audiences: ["vault"],
        expirationSeconds: 3_600,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "web", uid: "u-1" },
      },
    },
  ]);
  await clock.advance(0.79 * hour);
  expect(await tokens.get(pod, request, never)).toBe("token-1");
  expect(tokens.due()).toEqual([]);
  await clock.advance(0.02 * hour);
  expect(tokens.due()).toEqual(["u-1"]);
  expect(await tokens.get(pod, request, never)).toBe("token-2");
  expect(tokens.due()).toEqual([]);
});

test("each audience has its own token", async () => {
  const { tokens } = setUp();
  const pod = makePod();
  const [a, b] = await Promise.all([
    tokens.get(pod, { audience: "a" }, never),
    tokens.get(pod, { audience: "b" }, never),
  ]);
  expect(a).not.toBe(b);
  expect(await tokens.get(pod, { audience: "a" }, never)).toBe(a);
  expect(await tokens.get(pod, { audience: "b" }, never)).toBe(b);
});

test("during an outage a token is used until it expires", async () => {
  const { clock, api, tokens } = setUp();
  const pod = makePod();
  await tokens.get(pod, {}, never);
  api.breakConnection();
  await clock.advance(0.9 * hour);
  expect(await tokens.get(pod, {}, never)).toBe("token-1");
  await clock.advance(0.2 * hour);
  await expect(tokens.get(pod, {}, never)).rejects.toThrow(
    "token expired and refresh failed: connection refused",
  );
  tokens.forget("u-1");
  expect(tokens.due()).toEqual([]);
  await expect(tokens.get(pod, {}, never)).rejects.toThrow("failed to fetch token: connection refused");
});
