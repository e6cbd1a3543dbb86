import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { createEventRecorder } from "../../src/client/events/event-recorder.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createManualClock } from "../../src/lib/manual-clock.ts";
import { makePod } from "../support/manifests/pod.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

const pod = makePod("web-0", { metadata: { uid: "u-1", resourceVersion: "7" } });
const pulling = { type: "Normal", reason: "Pulling", fieldPath: "spec.containers{web}" } as const;

describe("an event recorder over a real server", () => {
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    server = await startTestServer();
    client = await connectCluster({ kubeconfig: server.kubeconfig });
  });
  afterAll(async () => {
    client.close();
    await server.close();
  });

  test("writes events, counts repeated ones, combines similar ones, and flushes when it stops", async () => {
    const recorder = createEventRecorder({
      client,
      component: "kubelet",
      host: "node-1",
      // The final flush is limited to two seconds, which a busy machine may exceed.
      clock: createManualClock(Date.now()),
      logger: silentLogger,
    });
    const stop = new AbortController();
    const running = recorder.run(stop.signal);
    for (let i = 0; i < 3; i++) recorder.record(pod, { ...pulling, message: 'Pulling image "web"' });
    for (let i = 0; i < 12; i++) {
      recorder.record(pod, { type: "Warning", reason: "Unhealthy", message: `probe failed: ${i}` });
    }
    recorder.record(
      { apiVersion: "v1", kind: "Node", metadata: { name: "node-1", uid: "u-2" } },
      { type: "Normal", reason: "Starting", message: "Starting kubelet." },
    );
    stop.abort();
    await running;
    expect(recorder.dropped()).toBe(0);

    const { items } = await client.list("events", { namespace: "default" });
    const of = (reason: string) => items.filter((event) => event.reason === reason);
    expect(of("Pulling")).toEqual([
      expect.objectContaining({
        metadata: expect.objectContaining({ name: expect.stringMatching(/^web-0\.[0-9a-f]{15,}$/) }),
        involvedObject: {
          apiVersion: "v1",
          kind: "Pod",
          namespace: "default",
          name: "web-0",
          uid: "u-1",
          resourceVersion: "7",
          fieldPath: "spec.containers{web}",
        },
        source: { component: "kubelet", host: "node-1" },
        count: 3,
        type: "Normal",
        message: 'Pulling image "web"',
        reportingComponent: "kubelet",
        reportingInstance: "node-1",
        firstTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      }),
    ]);
    expect(of("Unhealthy")).toHaveLength(10);
    expect(of("Unhealthy").at(-1)).toMatchObject({
      count: 3,
      message: "(combined from similar events): probe failed: 11",
    });
    expect(of("Starting")[0]?.metadata.namespace).toBe("default");
  });
});
