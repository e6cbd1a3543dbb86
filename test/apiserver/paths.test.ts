import { expect, test } from "vitest";
import type { Status } from "../../src/api/meta/status-error.ts";
import { configMaps, useSharedServer } from "../support/servers/shared-server.ts";

const server = useSharedServer();

test.each([
  ["GET", "/api/v1/nope", 404],
  ["GET", "/apis/apps/v9/things", 404],
  ["GET", `${configMaps}/missing`, 404],
  ["POST", `${configMaps}/named`, 405],
  ["GET", `${configMaps}/x/nope`, 404],
  ["GET", "/api/v1/namespaces/%zz/pods", 400],
  ["GET", "/api/v1/pods/x", 404],
  ["POST", "/api/v1/pods", 405],
  ["DELETE", "/api/v1/pods", 405],
  ["DELETE", "/api/v1/namespaces", 405],
  ["OPTIONS", `${configMaps}/x`, 405],
])("%s %s is %i", async (method, path, code) => {
  const response = await server.call(method, path, method === "POST" ? { body: {} } : {});
  expect(response.status).toBe(code);
  expect(response.json<Status>()).toMatchObject({ kind: "Status", status: "Failure", code });
});

test.each(["/nope", "/apis/nope.io/v1/things"])("%s is not found", async (path) => {
  expect(await server.call("GET", path)).toMatchObject({ status: 404, text: "404 page not found\n" });
});
