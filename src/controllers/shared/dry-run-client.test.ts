import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createDryRunClient } from "./dry-run-client.ts";

test("passes reads on and logs writes", async () => {
  const calls: string[] = [];
  const said: string[] = [];
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "default" } };
  const real = new Proxy({} as Client, {
    ownKeys: () => ["get", "list", "watch"],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    get: (_, name) => async () => {
      calls.push(String(name));
      return pod;
    },
  });
  const logger = { ...silentLogger, info: (message: string) => void said.push(message) };
  const client = createDryRunClient(real, logger);
  const key = { namespace: "default", name: "web" };

  expect(await client.get("pods", key)).toBe(pod);
  expect(await client.create("pods", pod)).toBe(pod);
  expect(await client.update("pods", pod, { subresource: "status" })).toBe(pod);
  expect(await client.patch("pods", key, { patch: { kind: "merge", body: {} } })).toBe(pod);
  await client.delete("pods", key);
  await client.deleteCollection("pods", { namespace: "default" });
  await expect(client.request("POST", "/binding", { body: {} })).rejects.toThrow("this is a dry run");
  await client.create("events", { ...pod, kind: "Event" } as never);

  expect(said).toEqual([
    "would create",
    "would update",
    "would patch",
    "would delete",
    "would delete all",
    "would send",
  ]);
  // A patch returns the existing object.
  expect(calls).toEqual(["get", "get"]);
});
