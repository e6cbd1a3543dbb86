import { expect, test } from "vitest";
import { createMetrics } from "../lib/metrics.ts";
import { countRequests } from "./count-requests.ts";
import { TransportError } from "./transport.ts";

test("requests are counted by what came of them", async () => {
  const metrics = createMetrics();
  let closed = false;
  const transport = countRequests(
    {
      async send({ path }) {
        if (path === "/away") throw new TransportError("nobody is there");
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
  await expect(send("/away")).rejects.toThrow("nobody is there");
  transport.close();
  expect(closed).toBe(true);
  expect(metrics.text().split("\n").slice(2)).toEqual([
    'rest_client_requests_total{code="404",method="GET",host="127.0.0.1:6443"} 2',
    'rest_client_requests_total{code="<error>",method="GET",host="127.0.0.1:6443"} 1',
    "",
  ]);
});
