import { expect, test } from "vitest";
import { createManualClock } from "../../../lib/manual-clock.ts";
import {
  clearSessionCookie,
  createSessions,
  readSessionCookie,
  setSessionCookie,
} from "./request-authorizer.ts";

test("keeps a session until it expires or is closed", async () => {
  const clock = createManualClock();
  const sessions = createSessions(clock);
  const [a, b] = [sessions.open("token a"), sessions.open("token b")];
  expect(a).not.toBe(b);
  expect([sessions.tokenOf(a), sessions.tokenOf(b), sessions.tokenOf("other")]).toEqual([
    "token a",
    "token b",
    undefined,
  ]);
  sessions.close(b);
  expect(sessions.tokenOf(b)).toBeUndefined();
  await clock.advance(8 * 3_600_000 - 1);
  expect(sessions.tokenOf(a)).toBe("token a");
  await clock.advance(1);
  expect(sessions.tokenOf(a)).toBeUndefined();
});

test("removes the oldest session at the limit", () => {
  const sessions = createSessions(createManualClock());
  const first = sessions.open("first");
  const second = sessions.open("second");
  for (let i = 0; i < 999; i++) sessions.open("more");
  expect([sessions.tokenOf(first), sessions.tokenOf(second)]).toEqual([undefined, "second"]);
});

test("restricts the cookie to this host, HTTPS and same-site requests", () => {
  expect(setSessionCookie("v")).toBe("__Host-kindling=v; Path=/; HttpOnly; Secure; SameSite=Strict");
  expect(clearSessionCookie()).toMatch(/^__Host-kindling=; .*Max-Age=0$/);
});

test.each([
  ["__Host-kindling=v", "v"],
  ["a=1; __Host-kindling=v=w; b=2", "v=w"],
  ["x__Host-kindling=v", undefined],
  ["", undefined],
  [undefined, undefined],
])("reads from the Cookie header %s the session %s", (header, value) => {
  expect(readSessionCookie(header)).toBe(value);
});
