import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Features } from "../../../src/api/meta/feature-gates.ts";
import { startTestServer, type TestServer } from "./api-server.ts";

/** For each test a data directory, and a server of it once it is started. */
export interface GatedServer {
  /** A server of the same data with other gates: what an administrator does to switch one. */
  restart(features: Partial<Features>): Promise<TestServer>;
}

export function useGatedServer(): GatedServer {
  let dataDir: string;
  let server: TestServer | undefined;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "kindling-gates-"));
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
    await rm(dataDir, { recursive: true, force: true });
  });
  return {
    async restart(features) {
      await server?.close();
      server = await startTestServer({ dataDir, store: { kind: "lmdb" }, features });
      return server;
    },
  };
}

export const mergePatch = { "content-type": "application/merge-patch+json" };
export const statefulSets = "/apis/apps/v1/namespaces/default/statefulsets";

export const container = (more: object = {}) => ({ name: "main", image: "nginx:1", ...more });

export function statefulSet(
  name: string,
  { containers = [container()], ...spec }: { containers?: object[]; [field: string]: unknown } = {},
) {
  const labels = { app: name };
  return {
    metadata: { name },
    spec: {
      serviceName: name,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
      ...spec,
    },
  };
}
