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
    const isAsked =
      request.url === "/monitor/api/report" && request.headers.authorization === "Bearer secret";
    response.writeHead(isAsked ? code : 401).end(isAsked ? body : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/monitor/`;
}

const { signal } = new AbortController();

test("3085-13: the report of a running monitor", async () => {
  const url = await serve(200, JSON.stringify(report));
  expect(await fetchSloReport({ url, token: "secret", signal })).toEqual(report);
});

test.each([
  ["another page", 200, "<html>", /is no report of a monitor: is this a monitor's address\?/],
  ["another shape", 200, JSON.stringify([{ name: "a" }]), /is no report of a monitor/],
  ["a failure", 503, "not yet", /answers 503: not yet/],
  ["no end", 200, "x".repeat(10_000_001), /more than a report can be/],
])("an answer that is none: %s", async (_, code, body, message) => {
  const url = await serve(code, body);
  await expect(fetchSloReport({ url, token: "secret", signal })).rejects.toThrow(message);
});

test("nobody there, or a monitor that wants a token", async () => {
  await expect(fetchSloReport({ url: "http://127.0.0.1:1", signal })).rejects.toThrow(
    /no monitor answers at http:\/\/127.0.0.1:1: .+/,
  );
  const url = await serve(200, JSON.stringify(report));
  await expect(fetchSloReport({ url, signal })).rejects.toThrow(/wants to know who asks: give a token/);
});
