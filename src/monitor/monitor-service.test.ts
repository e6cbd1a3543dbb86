import { expect, test } from "vitest";
import type { Client } from "../client/api/client.ts";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock } from "../lib/manual-clock.ts";
import { createMemoryStore } from "../store/local/memory-store.ts";
import { parseMonitorConfiguration } from "./configuration/monitor-configuration.ts";
import { createMonitorService } from "./monitor-service.ts";

test("stops every part when the store cannot be read", async () => {
  const signals: AbortSignal[] = [];
  /** Never resolves; rejects when the signal aborts. */
  const wait = ({ signal }: { readonly signal?: AbortSignal } = {}) =>
    new Promise<never>((_, reject) => {
      if (!signal) return;
      signals.push(signal);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const client = {
    list: (_resource: string, options: object) => wait(options),
    request: (_method: string, _path: string, options: object) => wait(options),
  } as unknown as Client;
  const list = () => Promise.reject(new Error("the disk cannot be read"));
  const service = await createMonitorService({
    client,
    clock: createManualClock(),
    logger: silentLogger,
    store: { ...createMemoryStore(), list },
    dataDir: "/proc/none",
    configuration: parseMonitorConfiguration("", "monitor.yaml"),
    server: "test",
  });
  await expect(service.run(new AbortController().signal)).rejects.toThrow("the disk cannot be read");
  expect(signals.length).toBeGreaterThan(0);
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
});
