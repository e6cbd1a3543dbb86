import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digestOf } from "../../src/runtime/content/content-store.ts";
import { hostPlatform } from "../../src/runtime/registry/manifest.ts";
import { createTransport } from "../../src/runtime/registry/transport.ts";
import {
  type FakeRegistry,
  type FakeRegistryOptions,
  layerOf,
  startFakeRegistry,
} from "../support/registry/fake-registry.ts";
import { type ImagesFixture, openImages, pullAll } from "../support/registry/images.ts";

const layer = layerOf("data", "content");
let fixture: ImagesFixture;
const registries: FakeRegistry[] = [];
const servers: Server[] = [];

beforeEach(async () => {
  fixture = await openImages();
});
afterEach(async () => {
  for (const registry of registries.splice(0)) await registry.stop();
  for (const server of servers.splice(0)) server.close();
  await fixture.remove();
});

async function startRegistry(options: Partial<FakeRegistryOptions> = {}): Promise<FakeRegistry> {
  const registry = await startFakeRegistry({ layers: [layer], ...options });
  registries.push(registry);
  return registry;
}

/** Some other service of the network. */
async function startService(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a registry that redirects to a token service", () => {
  test("does not receive credentials at the redirected address", async () => {
    const seen: string[] = [];
    const thief = await startService((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.end('{"token":"x"}');
    });
    const redirector = await startService((_, response) =>
      response.writeHead(307, { location: thief }).end(),
    );
    const { reference } = await startRegistry({
      handle(_, response) {
        response.writeHead(401, { "www-authenticate": `Bearer realm="${redirector}/token"` }).end();
        return true;
      },
    });
    const pull = pullAll(fixture.images, { reference, auth: { identityToken: "secret" } });
    await expect(pull).rejects.toThrow("credentials are not sent there");
    expect(seen).toEqual([]);
  });

  test.each(["file:///etc/passwd", "ftp://127.0.0.1/x", "unix:///run/docker.sock"])(
    "is not followed to %s",
    async (realm) => {
      const { reference } = await startRegistry({
        handle(_, response) {
          response.writeHead(401, { "www-authenticate": `Bearer realm="${realm}"` }).end();
          return true;
        },
      });
      await expect(pullAll(fixture.images, { reference })).rejects.toThrow("which is not supported");
    },
  );
});

describe("an address that a registry named", () => {
  test.each(["127.0.0.1", "localhost"])("is not %s, unless the registry itself runs there", async (name) => {
    let asked = 0;
    const service = new URL(
      await startService((_, response) => {
        asked++;
        response.end("secret");
      }),
    );
    service.hostname = name;
    const transport = createTransport();
    const { signal } = new AbortController();
    try {
      const call = transport.send({ url: service, reach: "remote", signal });
      await expect(call).rejects.toThrow("an address of this machine alone");
      expect(asked).toBe(0);
      const { status, body } = await transport.send({ url: service, signal });
      body.resume();
      expect(status).toBe(200);
    } finally {
      transport.close();
    }
  });
});

test.each(["http://169.254.169.254/latest/meta-data", "http://10.0.0.7/blob", "http://[fe80::1]/"])(
  "a registry on loopback cannot redirect to %s",
  async (location) => {
    const { reference } = await startRegistry({
      handle(request, response) {
        if (!request.url?.includes("/blobs/")) return false;
        response.writeHead(307, { location }).end();
        return true;
      },
    });
    await expect(pullAll(fixture.images, { reference })).rejects.toThrow("only to loopback");
  },
);

test.each(["null", "[]", '"text"'])("a configuration that is %s is rejected", async (config) => {
  const bytes = Buffer.from(config);
  const { reference } = await startRegistry({
    handle(request, response) {
      if (request.url?.includes("/blobs/")) response.end(bytes);
      else if (request.url?.includes("/manifests/")) {
        const descriptor = { digest: digestOf(bytes), size: bytes.length };
        response.end(JSON.stringify({ schemaVersion: 2, config: descriptor, layers: [] }));
      } else return false;
      return true;
    },
  });
  await expect(pullAll(fixture.images, { reference })).rejects.toThrow("configuration is not an object");
  expect(fixture.images.list()).toEqual([]);
});

describe("a manifest", () => {
  const blob = { digest: `sha256:${"a".repeat(64)}`, size: 1 };
  const { architecture } = hostPlatform;
  const index = { schemaVersion: 2, manifests: [{ ...blob, platform: { os: "linux", architecture } }] };

  test.each([
    [
      "of 1,001 layers",
      { schemaVersion: 2, config: blob, layers: Array(1_001).fill(blob) },
      "1000 are allowed",
    ],
    [
      "with a configuration of a gigabyte",
      { schemaVersion: 2, config: { ...blob, size: 2 ** 30 }, layers: [] },
      "bytes",
    ],
    [
      "of nine megabytes",
      { schemaVersion: 2, config: blob, layers: [], x: "x".repeat(9 << 20) },
      "more than",
    ],
    [
      "that names a blob by a path",
      { schemaVersion: 2, config: { ...blob, digest: "../../x" }, layers: [] },
      "digest",
    ],
    ["of indexes that is not what it was said to be", index, "digest"],
  ])("%s is refused", async (_, manifest, why) => {
    const { reference } = await startRegistry({
      handle(request, response) {
        if (!request.url?.includes("/manifests/")) return false;
        response.end(JSON.stringify(manifest));
        return true;
      },
    });
    await expect(pullAll(fixture.images, { reference })).rejects.toThrow(why);
    expect(fixture.images.list()).toEqual([]);
  });
});

test("an image with a false layer does not affect the same layer of another image", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const isBlob = (url: string | undefined, { layers }: FakeRegistry) =>
    url?.endsWith(layers[0]?.digest ?? "?");
  const liar = await startRegistry({
    lie: { diffId: `sha256:${"0".repeat(64)}` },
    async handle(request) {
      if (isBlob(request.url, liar)) await held;
      return false;
    },
  });
  const honest = await startRegistry();
  const lie = pullAll(fixture.images, { reference: liar.reference });
  const failed = expect(lie).rejects.toMatchObject({ code: "digestMismatch" });
  await expect.poll(() => liar.requests.some(({ path }) => isBlob(path, liar))).toBe(true);
  const pulled = pullAll(fixture.images, { reference: honest.reference });
  // Manifest and configuration: next is the layer, which the other pull is still busy with.
  await expect.poll(() => honest.requests.length).toBe(2);
  release();
  await failed;
  expect((await pulled).at(-1)).toMatchObject({ kind: "done" });
});
