import { expect, test } from "vitest";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { countRequests, TransportError } from "./transport.ts";

test("counts requests by status code, and errors", async () => {
  const metrics = createMetrics();
  let closed = false;
  const transport = countRequests(
    {
      async send({ path }) {
        if (path === "/unreachable") throw new TransportError("connection refused");
        return { status: 404, headers: {}, text: async () => "", chunks: async function* () {} };
      },
      close() {
        closed = true;
      },
    },
    metrics,
    "127.0.0.1:6443",
  );
  const send = (path: string) => transport.send({ method: "GET", path, headers: {} });
  await send("/a");
  await send("/b");
  await expect(send("/unreachable")).rejects.toThrow("connection refused");
  transport.close();
  expect(closed).toBe(true);
  expect(metrics.text().split("\n").slice(2)).toEqual([
    'rest_client_requests_total{code="404",method="GET",host="127.0.0.1:6443"} 2',
    'rest_client_requests_total{code="<error>",method="GET",host="127.0.0.1:6443"} 1',
    "",
  ]);
});
