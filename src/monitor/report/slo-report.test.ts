import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { SloView } from "../feed/feed-message.ts";
import { fetchSloReport } from "./slo-report.ts";

const report: SloView[] = [
  {
    name: "fast",
    kind: "latency",
    objective: "99% of starts within 10s, over 28d",
    target: 0.99,
    budgetLeft: 1,
    burnRate: 0,
    good: 1,
    total: 1,
    breaches: [],
  },
];

let close: () => Promise<void> = async () => {};
afterEach(() => close());

async function serve(code: number, body: string) {
  const server = createServer((request, response) => {
    const isExpected =
      request.url === "/monitor/api/report" && request.headers.authorization === "Bearer secret";
    response.writeHead(isExpected ? code : 401).end(isExpected ? body : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/monitor/`;
}

const { signal } = new AbortController();

test("3085-13: fetches the report of a running monitor", async () => {
  const url = await serve(200, JSON.stringify(report));
  expect(await fetchSloReport({ url, token: "secret", signal })).toEqual(report);
});

test.each([
  [
    "another page",
    200,
    "<html>",
    /did not return a monitor's report; check that this is the address of a monitor/,
  ],
  ["another shape", 200, JSON.stringify([{ name: "a" }]), /did not return a monitor's report/],
  ["a failure", 503, "not yet", /responded with 503: not yet/],
  ["an endless body", 200, "x".repeat(10_000_001), /is larger than 10000000 bytes/],
])("rejects %s", async (_, code, body, message) => {
  const url = await serve(code, body);
  await expect(fetchSloReport({ url, token: "secret", signal })).rejects.toThrow(message);
});

test("rejects an unreachable monitor and a missing token", async () => {
  await expect(fetchSloReport({ url: "http://127.0.0.1:1", signal })).rejects.toThrow(
    /no monitor responds at http:\/\/127.0.0.1:1: .+/,
  );
  const url = await serve(200, JSON.stringify(report));
  await expect(fetchSloReport({ url, signal })).rejects.toThrow(/requires authentication; provide a token/);
});
