import { EventEmitter, getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { silentLogger } from "../lib/logger.ts";
import { ContainerEventResponse, RuntimeServiceService } from "./generated/cri.ts";
import { type CallContext, serveCalls } from "./serve-call.ts";

test("a stream waits for a slow reader without accumulating listeners", async () => {
  let listeners = 0;
  const { getContainerEvents } = serveCalls(
    RuntimeServiceService,
    {
      async *getContainerEvents(_request: never, { signal }: CallContext) {
        for (let i = 0; i < 20; i++) {
          yield ContainerEventResponse.fromPartial({ containerId: String(i) });
          listeners = Math.max(listeners, getEventListeners(signal, "abort").length);
        }
      },
    },
    { logger: silentLogger, toStatus: () => ({ code: 2, details: "" }) },
  );
  const written: string[] = [];
  const call = Object.assign(new EventEmitter(), {
    request: {},
    write({ containerId }: ContainerEventResponse) {
      written.push(containerId);
      setImmediate(() => call.emit("drain"));
      return false;
    },
    end: () => call.emit("ended"),
  });
  const ended = new Promise((resolve) => call.once("ended", resolve));
  (getContainerEvents as unknown as (call: unknown) => void)(call);
  await ended;
  expect(written).toHaveLength(20);
  expect(listeners).toBe(0);
  expect(call.listenerCount("drain")).toBe(0);
});
