import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { TransportResponse } from "../../client/transport/transport.ts";
import { collectGarbage } from "../../lib/process/free-used-buffers.ts";
import { createInProcessTransport } from "./in-process-transport.ts";

type Body = AsyncGenerator<Buffer>;

function connect(body: Body) {
  return createInProcessTransport({
    user: { username: "test", groups: [], extra: {} },
    server: () => ({ handle: async () => ({ status: 200, headers: {}, body }) }),
    openConnected: () => {
      throw new Error("no connection in this test");
    },
  });
}

async function watch(body: Body, signal?: AbortSignal): Promise<AsyncIterator<Uint8Array>> {
  const request = { method: "GET", path: "/", headers: {}, ...(signal && { signal }) };
  const response: TransportResponse = await connect(body).send(request);
  return response.chunks()[Symbol.asyncIterator]();
}

test("does not retain the events of a watch that were read", async () => {
  const eventBytes = 100_000;
  async function* events(): Body {
    for (;;) yield Buffer.allocUnsafeSlow(eventBytes);
  }
  const chunks = await watch(events());
  const heldBytes = async () => {
    await nextTurn();
    collectGarbage("major");
    return process.memoryUsage().arrayBuffers;
  };
  const before = await heldBytes();
  for (let count = 0; count < 500; count++) await chunks.next();
  // Far from all 500, and above what V8 has not collected yet.
  expect((await heldBytes()) - before).toBeLessThan(250 * eventBytes);
  await chunks.return?.();
});

test("an aborted watch rejects with the reason while it waits for an event", async () => {
  const stop = new AbortController();
  async function* silence(): Body {
    await new Promise(() => {});
  }
  const chunks = await watch(silence(), stop.signal);
  const next = chunks.next();
  await nextTurn();
  stop.abort(new Error("enough"));
  await expect(next).rejects.toThrow("enough");
});
