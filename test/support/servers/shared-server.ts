import { afterAll, beforeAll, expect } from "vitest";
import type { Status } from "../../../src/api/meta/status-error.ts";
import { startTestServer, type TestServer } from "./api-server.ts";

export interface SharedServer extends Pick<TestServer, "call" | "json"> {
  /** For a request that must not succeed. */
  fails(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Status>;
}

/** One server for all tests of a file: each test writes objects with unique names. */
export function useSharedServer(): SharedServer {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server?.close());
  return {
    call: (method, path, options) => server.call(method, path, options),
    json: (method, path, body) => server.json(method, path, body),
    async fails(method, path, body, headers) {
      const response = await server.call(method, path, { body, headers });
      expect(response.status, response.text).toBeGreaterThanOrEqual(400);
      return response.json<Status>();
    },
  };
}

export const configMaps = "/api/v1/namespaces/default/configmaps";
export const pods = "/api/v1/namespaces/default/pods";
