import { expect, test } from "vitest";
import { checkHealth } from "./handle-request.ts";

const healthy = { syncloop: () => undefined };
const sick = { syncloop: () => "last sync was 3m0s ago" };

test.each([
  [healthy, { verbose: false }, { code: 200, text: "ok" }],
  [
    healthy,
    { verbose: true },
    { code: 200, text: "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n" },
  ],
  [healthy, { name: "syncloop", verbose: false }, { code: 200, text: "ok" }],
  [healthy, { name: "constructor", verbose: false }, undefined],
  [sick, { name: "ping", verbose: false }, { code: 200, text: "ok" }],
  [
    sick,
    { verbose: false },
    {
      code: 500,
      text: "[+]ping ok\n[+]log ok\n[-]syncloop failed: last sync was 3m0s ago\nhealthz check failed\n",
    },
  ],
])("health request %# gets the expected response", (checks, asked, answer) => {
  expect(checkHealth(checks, asked)).toEqual(answer);
});
