import { expect, test } from "vitest";
import { followServer, serverNow } from "./server-clock.ts";

const clock = { serverMs: 1_000_000, localMs: 50 };

test("it goes on from the server's time", () => {
  expect(serverNow(followServer(undefined, 1_000_000, 50), 1_050)).toBe(1_001_000);
});

test.each([
  { name: "a late message changes nothing", serverMs: 1_000_500, localMs: 1_050, now: 1_001_000 },
  { name: "a faster one moves it on", serverMs: 1_001_200, localMs: 1_050, now: 1_001_200 },
  { name: "a clock that was set back is followed", serverMs: 900_000, localMs: 1_050, now: 900_000 },
])("$name", ({ serverMs, localMs, now }) => {
  expect(serverNow(followServer(clock, serverMs, localMs), localMs)).toBe(now);
});
