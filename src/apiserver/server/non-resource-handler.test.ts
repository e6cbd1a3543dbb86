import { expect, test } from "vitest";
import { respondToHealth } from "./non-resource-handler.ts";

const ping = { name: "ping", check: async () => {} };
const store = { name: "store", check: () => Promise.reject(new Error("secret detail")) };
const answer = (path: string, query: string, ...checks: (typeof ping)[]) =>
  respondToHealth(path, new URLSearchParams(query), checks);

test("returns ok, and a line for each check with verbose", async () => {
  expect(await answer("/readyz", "", ping)).toEqual({ status: 200, body: "ok" });
  expect(await answer("/readyz", "verbose", ping)).toEqual({
    status: 200,
    body: "[+]ping ok\nreadyz check passed\n",
  });
});

test("a failure names the check and withholds the reason", async () => {
  expect(await answer("/livez", "", ping, store)).toEqual({
    status: 500,
    body: "[+]ping ok\n[-]store failed: reason withheld\nlivez check failed\n",
  });
});

test("exclude skips a check; a single check can be requested", async () => {
  expect(await answer("/readyz", "exclude=store", ping, store)).toEqual({ status: 200, body: "ok" });
  expect(await answer("/readyz/ping", "", ping, store)).toEqual({ status: 200, body: "ok" });
  expect(await answer("/readyz/nope", "", ping)).toBeUndefined();
});
