import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadOrCreatePki } from "../../../src/apiserver/auth/pki/pki.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { startTestServer, type TestServer } from "../../support/servers/api-server.ts";
import { cronTabDefinition, cronTabVersion, definitionsPath, establish } from "./crontab.fixture.ts";

const folder = temporaryFolder();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

interface Converted {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; resourceVersion?: string };
  spec: Record<string, unknown>;
}

const pathOf = (plural: string, version: string) =>
  `/apis/stable.example.com/${version}/namespaces/default/${plural}`;

/** A version whose spec has one field. */
function version(name: string, field: string, storage: boolean) {
  return cronTabVersion(name, {
    storage,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: { [field]: { type: "string" } } } },
      },
    },
    subresources: {},
    additionalPrinterColumns: [],
    selectableFields: [{ jsonPath: `.spec.${field}` }],
  });
}

describe("conversion None", () => {
  test("serves stored objects in each version, and the storage version can change", async () => {
    const versions = [version("v1", "size", true), version("v1beta1", "size", false)];
    const current = await establish(
      server,
      cronTabDefinition({ names: { plural: "nones", kind: "None" }, versions }),
    );
    const make = (apiVersion: string, name: string) => ({
      apiVersion: `stable.example.com/${apiVersion}`,
      kind: "None",
      metadata: { name },
      spec: { size: "1" },
    });
    await server.json("POST", pathOf("nones", "v1beta1"), make("v1beta1", "a"));
    expect(await server.json("GET", `${pathOf("nones", "v1")}/a`)).toMatchObject(make("v1", "a"));
    for (const each of current.spec.versions ?? []) each.storage = each.name === "v1beta1";
    const changed = await server.json<typeof current>(
      "PUT",
      `${definitionsPath}/nones.stable.example.com`,
      current,
    );
    expect(changed.status?.storedVersions).toEqual(["v1", "v1beta1"]);
    await server.json("POST", pathOf("nones", "v1"), make("v1", "b"));
    for (const each of ["v1", "v1beta1"]) {
      const { items } = await server.json<{ items: Converted[] }>("GET", pathOf("nones", each));
      expect(items.map(({ apiVersion, metadata }) => `${apiVersion} ${metadata.name}`)).toEqual([
        `stable.example.com/${each} a`,
        `stable.example.com/${each} b`,
      ]);
    }
    const group = await server.json<{ preferredVersion: { version: string } }>(
      "GET",
      "/apis/stable.example.com",
    );
    expect(group.preferredVersion.version).toBe("v1");
    const dropped = structuredClone(changed);
    dropped.spec.versions = dropped.spec.versions?.filter(({ name }) => name === "v1beta1");
    const refused = await server.call("PUT", `${definitionsPath}/nones.stable.example.com`, {
      body: dropped,
    });
    expect(refused.text).toContain("v1 was previously a storage version");
  });
});

describe("conversion Webhook", () => {
  let webhook: Server;
  let reviews: { desiredAPIVersion: string; objects: Converted[] }[] = [];
  let respond: (objects: Converted[], desired: string) => object;
  const convert = (objects: Converted[], desired: string) => ({
    result: { status: "Success" },
    convertedObjects: objects.map(({ spec: { size, width }, ...object }) => ({
      ...object,
      apiVersion: desired,
      metadata: { ...object.metadata, labels: { converted: "yes" } },
      spec: desired.endsWith("/v1") ? { size: size ?? width } : { width: width ?? size },
    })),
  });

  beforeAll(async () => {
    const pki = await loadOrCreatePki({ directory: `${folder}/pki`, hosts: ["127.0.0.1"], now: Date.now() });
    webhook = createServer({ cert: pki.serving.cert, key: pki.serving.key }, async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const review = JSON.parse(Buffer.concat(chunks).toString());
      reviews.push(review.request);
      if (request.url === "/elsewhere") {
        response.writeHead(307, { location: "https://127.0.0.1:1/" }).end();
        return;
      }
      const { uid, objects, desiredAPIVersion } = review.request;
      response.end(JSON.stringify({ ...review, response: { uid, ...respond(objects, desiredAPIVersion) } }));
    });
    await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve));
    const { port } = webhook.address() as AddressInfo;
    const conversion = (path: string) => ({
      strategy: "Webhook",
      webhook: {
        conversionReviewVersions: ["v1"],
        clientConfig: {
          url: `https://127.0.0.1:${port}${path}`,
          caBundle: Buffer.from(pki.authority.cert).toString("base64"),
        },
      },
    });
    const versions = [version("v1", "size", true), version("v2", "width", false)];
    const names = { plural: "hooks", kind: "Hook" };
    await establish(server, cronTabDefinition({ names, versions, conversion: conversion("/convert") }));
    const others = { plural: "moveds", kind: "Moved" };
    await establish(
      server,
      cronTabDefinition({ names: others, versions, conversion: conversion("/elsewhere") }),
    );
  });
  afterAll(() => void webhook.close());

  const make = (kind: string, apiVersion: string, name: string, spec: object) => ({
    apiVersion: `stable.example.com/${apiVersion}`,
    kind,
    metadata: { name },
    spec,
  });

  test("converts objects that are stored in another version, on writes, reads, lists and watches", async () => {
    respond = convert;
    await server.json("POST", pathOf("hooks", "v1"), make("Hook", "v1", "a", { size: "1" }));
    expect(reviews).toEqual([]);
    expect(await server.json("GET", `${pathOf("hooks", "v2")}/a`)).toMatchObject({
      apiVersion: "stable.example.com/v2",
      metadata: { labels: { converted: "yes" } },
      spec: { width: "1" },
    });
    await server.json("POST", pathOf("hooks", "v2"), make("Hook", "v2", "b", { width: "2" }));
    expect(await server.json("GET", `${pathOf("hooks", "v1")}/b`)).toMatchObject({ spec: { size: "2" } });
    const list = await server.json<{ items: Converted[]; metadata: { resourceVersion: string } }>(
      "GET",
      `${pathOf("hooks", "v2")}?fieldSelector=spec.width%3D2`,
    );
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(["b"]);
    const watch = server.call(
      "GET",
      `${pathOf("hooks", "v2")}?watch=1&timeoutSeconds=2&resourceVersion=${list.metadata.resourceVersion}`,
    );
    await server.json("POST", pathOf("hooks", "v1"), make("Hook", "v1", "c", { size: "3" }));
    await server.json("DELETE", `${pathOf("hooks", "v1")}/c`);
    const events = (await watch).text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name} ${object.spec?.width}`)).toEqual(
      ["ADDED c 3", "DELETED c 3"],
    );
  });

  test.each([
    ["a failure", () => ({ result: { status: "Failure", message: "cannot convert" } }), "cannot convert"],
    [
      "another number of objects",
      () => ({ result: { status: "Success" }, convertedObjects: [] }),
      "expected 1",
    ],
    [
      "another name",
      (objects: Converted[], desired: string) => ({
        result: { status: "Success" },
        convertedObjects: objects.map((object) => ({
          ...object,
          apiVersion: desired,
          metadata: { name: "z" },
        })),
      }),
      "must have the same name",
    ],
  ])("%s fails the request", async (_, broken, message) => {
    respond = convert;
    const name = `f${message.length}`;
    await server.json("POST", pathOf("hooks", "v1"), make("Hook", "v1", name, { size: "1" }));
    respond = broken;
    const response = await server.call("GET", `${pathOf("hooks", "v2")}/${name}`);
    expect(response.status).toBe(500);
    expect(response.json()).toMatchObject({
      message: expect.stringMatching(
        `conversion webhook for stable.example.com/v2, Kind=Hook failed: .*${message}`,
      ),
    });
    // The version in which the object is stored needs no webhook.
    expect((await server.call("GET", `${pathOf("hooks", "v1")}/${name}`)).status).toBe(200);
    respond = convert;
    expect((await server.call("GET", `${pathOf("hooks", "v2")}/${name}`)).status).toBe(200);
  });

  test("a redirect is not followed", async () => {
    reviews = [];
    await server.json("POST", pathOf("moveds", "v1"), make("Moved", "v1", "a", { size: "1" }));
    const response = await server.call("GET", `${pathOf("moveds", "v2")}/a`);
    expect(response.text).toContain("the server responded with the status code 307");
  });
});
