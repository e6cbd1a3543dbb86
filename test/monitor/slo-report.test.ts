import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SloView } from "../../src/monitor/feed/feed-message.ts";
import { runKindling } from "../support/programs/run-kindling.ts";

const slos: SloView[] = [
  {
    name: "sandboxes",
    kind: "latency",
    objective: "99% of first sandboxes within 10s, over 28d",
    target: 0.99,
    budgetLeft: -4,
    burnRate: 5,
    good: 95,
    total: 100,
    breaches: [{ class: "StorageClass broken", bad: 5, total: 5 }],
  },
];
const monitor = createServer((request, response) => {
  response.writeHead(request.url === "/api/report" ? 200 : 404).end(JSON.stringify(slos));
});
let url = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => monitor.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(monitor.address() as AddressInfo).port}`;
});
afterAll(() => void monitor.close());

async function report(...args: string[]) {
  const { exit, output } = await runKindling(["monitor", "report", ...args]);
  return { code: await exit, ...output };
}

test("3085-13: kindling monitor report prints objectives, and where their breaches come from", async () => {
  const { code, stdout } = await report("--monitor", url);
  expect(stdout).toMatch(
    /^sandboxes +breached +95% +99% +-400% +5x +5\/100 +99% of first sandboxes within 10s/m,
  );
  expect(stdout).toMatch(/^ +StorageClass broken +5 of 5$/m);
  expect(code).toBe(0);
});

test("3085-13: the same as JSON", async () => {
  const { code, stdout } = await report("--monitor", url, "-o", "json");
  expect(JSON.parse(stdout)).toEqual(slos);
  expect(code).toBe(0);
});

test.each([
  [
    "reports an unreachable monitor",
    ["--monitor", "http://127.0.0.1:1"],
    1,
    /no monitor responds at http:\/\/127\.0\.0\.1:1/,
  ],
  ["no address", ["--monitor", "monitor"], 2, /--monitor: "monitor" is not a URL; write http:\/\/HOST:PORT/],
  ["a token that is not there", ["--token-file", "/proc/none"], 2, /--token-file: .*\/proc\/none/],
])("%s", async (_, args, wanted, message) => {
  const { code, stderr } = await report(...args);
  expect(stderr).toMatch(message);
  expect(code).toBe(wanted);
});
