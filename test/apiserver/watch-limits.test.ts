import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { defaultFeatures } from "../../src/api/meta/feature-gates.ts";
import type { Status } from "../../src/api/meta/status-error.ts";
import { startControlPlane } from "../../src/cluster/parts/control-plane.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { makeTemporaryFolder } from "../support/files/temporary-folder.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";
import { type OpenWatch, openWatch } from "../support/servers/open-watch.ts";
import { withToken } from "../support/servers/secure-server.ts";

const path = "/api/v1/namespaces/default/configmaps";
const watchPath = `${path}?watch=true&timeoutSeconds=600`;
const tokens = ["alice", "bob", "carol"]
  .map((name) => `${name}s-token,${name},${name},"system:masters"`)
  .join("\n");

describe("a server for three watches, two of them of one user", () => {
  let server: TestServer;
  let open: OpenWatch[] = [];
  beforeAll(async () => {
    server = await startTestServer({ tokens, limits: { maxWatches: { total: 3, perUser: 2 } } });
  });
  afterEach(() => {
    for (const watch of open) watch.close();
    open = [];
  });
  afterAll(() => server.close());

  const as = (name: string) => withToken(`${name}s-token`);
  const watchAs = async (name: string) => open.push(await openWatch(server, watchPath, as(name).headers));
  const refusedWatch = (name: string) => server.call("GET", watchPath, as(name));

  test("rejects a user's third watch with 429, and serves the user's reads and another user's watch", async () => {
    await watchAs("alice");
    await watchAs("alice");
    const refused = await refusedWatch("alice");
    expect(refused.status).toBe(429);
    expect(refused.headers["retry-after"]).toBe("10");
    expect(refused.json<Status>()).toMatchObject({
      kind: "Status",
      reason: "TooManyRequests",
      message: expect.stringContaining('user "alice" has 2 open watches'),
    });
    expect((await server.call("GET", path, as("alice"))).status).toBe(200);
    await watchAs("bob");

    const full = await refusedWatch("carol");
    expect(full.status).toBe(429);
    expect(full.json<Status>().message).toContain("--max-watches allows");
    expect((await server.call("GET", path, as("carol"))).status).toBe(200);
  });

  test("accepts a watch again once another is closed", async () => {
    const admitted = () =>
      watchAs("alice").then(
        () => true,
        () => false,
      );
    // The server learns of watches that others have closed a little later.
    await expect.poll(admitted).toBe(true);
    await expect.poll(admitted).toBe(true);
    expect(await admitted()).toBe(false);
    open.pop()?.close();
    await expect.poll(admitted).toBe(true);
  });
});

test("a component in the server's process is limited per user, not by the total", async () => {
  const folder = makeTemporaryFolder();
  const server = await startControlPlane({
    dataDir: folder.path,
    store: { kind: "memory" },
    listen: { host: "127.0.0.1", port: 0 },
    features: defaultFeatures,
    logger: silentLogger,
    limits: { maxWatches: { total: 1, perUser: 2 } },
  });
  onTestFinished(async () => {
    await server.close();
    folder.remove();
  });
  const component = server.connect({ commonName: "component", organizations: ["system:masters"] });
  const watch = () => component.send({ method: "GET", path: watchPath, headers: {} });
  expect((await watch()).status).toBe(200);
  expect((await watch()).status).toBe(200);
  const refused = await watch();
  expect(refused.status).toBe(429);
  expect(refused.headers["retry-after"]).toBe("10");
  expect((await component.send({ method: "GET", path, headers: {} })).status).toBe(200);
});
