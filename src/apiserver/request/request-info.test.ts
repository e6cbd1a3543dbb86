import { describe, expect, test } from "vitest";
import { builtInKinds } from "../../api/kinds/built-in-kinds.ts";
import { createKindRegistry } from "../kinds/kind-registry.ts";
import { parseRequest } from "./request-info.ts";

const kinds = createKindRegistry(builtInKinds);

function parse(method: string, url: string) {
  const [path = "", query] = url.split("?");
  return parseRequest(kinds, method, path, query === undefined ? undefined : new URLSearchParams(query));
}

describe("resource requests", () => {
  test.each([
    ["GET", "/api/v1/pods", { verb: "list", plural: "pods", namespace: "" }],
    ["GET", "/api/v1/namespaces/a/pods", { verb: "list", plural: "pods", namespace: "a" }],
    ["GET", "/api/v1/namespaces/a/pods/x", { verb: "get", plural: "pods", namespace: "a", name: "x" }],
    ["GET", "/api/v1/namespaces/a/pods?watch=true", { verb: "watch", plural: "pods" }],
    ["GET", "/api/v1/namespaces/a/pods?watch", { verb: "watch" }],
    ["GET", "/api/v1/namespaces/a/pods?watch=0", { verb: "list" }],
    ["GET", "/api/v1/namespaces/a/pods/x?watch=true", { verb: "get", name: "x" }],
    ["GET", "/api/v1/watch/namespaces/a/pods", { verb: "watch", namespace: "a", plural: "pods" }],
    ["GET", "/api/v1/watch/nodes/n", { verb: "watch", plural: "nodes", name: "n" }],
    ["POST", "/api/v1/namespaces/a/pods", { verb: "create", namespace: "a" }],
    ["PUT", "/api/v1/namespaces/a/pods/x/status", { verb: "update", name: "x", subresource: "status" }],
    ["PATCH", "/apis/apps/v1/namespaces/a/statefulsets/x", { verb: "patch", group: "apps", version: "v1" }],
    ["DELETE", "/api/v1/namespaces/a/pods/x", { verb: "delete", name: "x" }],
    ["DELETE", "/api/v1/namespaces/a/pods", { verb: "deletecollection", name: "" }],
    ["GET", "/api/v1/namespaces", { verb: "list", plural: "namespaces", namespace: "" }],
    ["GET", "/api/v1/namespaces/a", { verb: "get", plural: "namespaces", name: "a", namespace: "a" }],
    [
      "PUT",
      "/api/v1/namespaces/a/finalize",
      { verb: "update", plural: "namespaces", name: "a", subresource: "finalize" },
    ],
    [
      "GET",
      "/api/v1/nodes/n/proxy/stats/summary",
      { plural: "nodes", subresource: "proxy", rest: "stats/summary" },
    ],
    ["GET", "/api/v1/namespaces/a/pods/x/", { verb: "get", name: "x" }],
    ["GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", { name: "system:node" }],
    [
      "GET",
      "/apis/nope.io/v7/things",
      { group: "nope.io", version: "v7", plural: "things", definition: undefined },
    ],
  ])("%s %s", (method, url, expected) => {
    expect(parse(method, url)).toMatchObject({ kind: "resource", ...expected });
  });

  test("a served resource has its definition", () => {
    expect(parse("GET", "/apis/apps/v1/statefulsets")).toMatchObject({
      definition: { resource: { kind: "StatefulSet" } },
    });
  });
});

describe("path requests", () => {
  test.each([
    "/",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apps",
    "/apis/apps/v1",
    "/healthz",
    "/openapi/v3/apis/apps/v1",
  ])("GET %s", (path) => {
    expect(parse("GET", path)).toEqual({ kind: "path", verb: "get", path });
  });

  test.each(["OPTIONS", "TRACE", "PROPFIND"])("%s of an object is none of its verbs", (method) => {
    const path = "/api/v1/namespaces/a/pods/x";
    expect(parse(method, path)).toEqual({ kind: "path", verb: method.toLowerCase(), path });
  });
});

test("invalid percent-encoding is not parsed", () => {
  expect(parse("GET", "/api/v1/namespaces/%zz/pods")).toBeUndefined();
});
