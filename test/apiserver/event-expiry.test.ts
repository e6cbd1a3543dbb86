import { expect, onTestFinished, test } from "vitest";
import { createManualClock } from "../../src/lib/manual-clock.ts";
import { startTestServer } from "../support/servers/api-server.ts";

test("the API server deletes an event an hour after it was written", async () => {
  const clock = createManualClock(Date.now());
  const server = await startTestServer({ clock });
  onTestFinished(() => server.close());
  const path = "/api/v1/namespaces/default/events";
  const body = { metadata: { name: "a", namespace: "default" }, involvedObject: { namespace: "default" } };
  await server.json("POST", path, body);
  const count = async () => (await server.json<{ items: unknown[] }>("GET", path)).items.length;
  await clock.advance(59 * 60_000);
  expect(await count()).toBe(1);
  await clock.advance(2 * 60_000);
  await expect.poll(count).toBe(0);
});
