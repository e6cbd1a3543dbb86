import { once } from "node:events";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { readCredentials, startTestServer, type TestServer } from "../support/servers/api-server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function open(path: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  const { ca, cert, key } = await readCredentials(server.kubeconfig);
  const credentials = headers.authorization ? {} : { cert, key };
  const client = new WebSocket(`${server.url.replace("https", "wss")}${path}`, {
    ca,
    ...credentials,
    headers,
  });
  onTestFinished(() => client.terminate());
  return client;
}

test("a watch over WebSocket sends each event as a text message and ends at its timeout", async () => {
  const before = await server.json("POST", configMaps, makeConfigMap("web-socket"));
  const { resourceVersion } = before.metadata;
  const query = `watch=true&fieldSelector=metadata.name%3Dweb-socket&resourceVersion=${resourceVersion}`;
  const client = await open(`${configMaps}?${query}&timeoutSeconds=2`);
  const events: { type: string; object: { data?: object } }[] = [];
  client.on("message", (data, isBinary) => {
    expect(isBinary).toBe(false);
    events.push(JSON.parse(String(data)));
  });
  await once(client, "open");
  const long = "x".repeat(200_000);
  await server.json("PUT", `${configMaps}/web-socket`, { ...before, data: { long } });
  await server.json("DELETE", `${configMaps}/web-socket`);
  const [code] = await once(client, "close");
  expect(code).toBe(1000);
  expect(events.map(({ type }) => type)).toEqual(["MODIFIED", "DELETED"]);
  expect(events[0]?.object.data).toEqual({ long });
});

test.each([
  ["an invalid credential", `${configMaps}?watch=true`, { authorization: "Bearer x" }, 401],
  ["an invalid resource version", `${configMaps}?watch=true&resourceVersion=x`, {}, 400],
  ["a list", configMaps, {}, 400],
])("a WebSocket with %s is rejected before the handshake", async (_, path, headers, code) => {
  const client = await open(path, headers);
  client.on("error", () => {});
  const [, response] = await once(client, "unexpected-response");
  expect(response.statusCode).toBe(code);
});
