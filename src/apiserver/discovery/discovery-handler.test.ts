import { describe, expect, test } from "vitest";
import { createDiscoveryHandler } from "./discovery-handler.ts";

const discover = createDiscoveryHandler({ serverAddress: "10.0.0.1:6443" });
const asAggregated = (version: string) =>
  `application/json;as=APIGroupDiscoveryList;v=${version};g=apidiscovery.k8s.io`;

async function getJson(path: string, accept?: string) {
  const answer = await discover(path, { accept });
  return JSON.parse(answer?.body ?? "null");
}

describe("which paths it answers", () => {
  test.each([
    ["/api", "APIVersions"],
    ["/api/", "APIVersions"],
    ["/api/v1", "APIResourceList"],
    ["/apis", "APIGroupList"],
    ["/apis/apps", "APIGroup"],
    ["/apis/apps/v1", "APIResourceList"],
    ["/apis/authorization.k8s.io/v1/", "APIResourceList"],
  ])("%s", async (path, kind) => {
    expect(await getJson(path)).toMatchObject({ kind });
  });

  test.each([
    "/",
    "/apix",
    "/api/v2",
    "/apis/v1",
    "/apis/nope",
    "/apis/apps/v2",
    "/api/v1/pods",
    "/apis/constructor",
  ])("%s is not discovery's", (path) => {
    expect(discover(path, {})).toBeUndefined();
  });
});

describe("plain and aggregated", () => {
  const kubectl = `${asAggregated("v2")},${asAggregated("v2beta1")},application/json`;

  test.each([
    ["/apis", kubectl, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"],
    [
      "/api",
      asAggregated("v2beta1"),
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    ],
    ["/apis", "application/json", "application/json"],
    ["/apis", "application/yaml", "application/yaml"],
    ["/apis/apps", kubectl, "application/json"],
    ["/apis", `${asAggregated("v3")},application/json`, "application/json"],
    ["/apis", "application/vnd.kubernetes.protobuf,application/json", "application/json"],
  ])("%s for %s", async (path, accept, contentType) => {
    const answer = await discover(path, { accept });
    expect(answer).toMatchObject({ status: 200, headers: { "content-type": contentType, vary: "Accept" } });
  });

  test("a client that takes nothing we serve gets 406", async () => {
    await expect(discover("/apis/apps", { accept: "text/html" })).rejects.toMatchObject({ code: 406 });
  });

  test("an answer the client already has is not sent again", async () => {
    const first = await discover("/apis", { accept: kubectl });
    const etag = first?.headers.etag;
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    const again = await discover("/apis", { accept: kubectl, "if-none-match": etag });
    expect(again).toMatchObject({ status: 304, body: "", headers: { etag } });
    expect(await discover("/apis", { "if-none-match": etag })).toMatchObject({ status: 200 });
  });
});
