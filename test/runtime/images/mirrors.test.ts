import { afterEach, expect, test } from "vitest";
import { noRegistries } from "../../../src/runtime/registry/credentials.ts";
import { type FakeRegistry, layerOf, startFakeRegistry } from "../../support/registry/fake-registry.ts";
import { openImages, pullAll } from "../../support/registry/images.ts";

const layers = [layerOf("a", "first"), layerOf("b", "second")];
const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop();
});

async function start(handle?: Parameters<typeof startFakeRegistry>[0]["handle"]): Promise<FakeRegistry> {
  const registry = await startFakeRegistry({ layers, handle });
  opened.push(registry);
  return registry;
}

/** Pulls `app:v1` of the host by way of the mirrors. */
async function pullFrom(host: string, mirrors: readonly FakeRegistry[]): Promise<void> {
  const addresses = mirrors.map((mirror) => `http://${mirror.host}`);
  const { images, remove } = await openImages({
    registries: { ...noRegistries, mirrors: new Map([[host, addresses]]) },
  });
  try {
    await pullAll(images, { reference: `${host}/app:v1` });
  } finally {
    await remove();
  }
}

const pathsOf = ({ requests }: FakeRegistry) => requests.map(({ path }) => path);

test("a mirror gets the registry name with every request; its token server and redirect targets do not", async () => {
  const storage = await start();
  const mirror: FakeRegistry = await start((request, response) => {
    if (request.url?.startsWith("/token")) {
      response.end('{"token":"t0k"}');
    } else if (request.headers.authorization !== "Bearer t0k") {
      const realm = `Bearer realm="http://${mirror.host}/token",service="mirror"`;
      response.writeHead(401, { "www-authenticate": realm }).end();
    } else if (request.url?.includes("/blobs/")) {
      response
        .writeHead(307, { location: `http://${storage.host}${request.url.replace(/\?.*$/, "")}` })
        .end();
    } else {
      return false;
    }
    return true;
  });
  await pullFrom("registry.invalid:5000", [mirror]);
  const asked = pathsOf(mirror);
  const [tokens, others] = [true, false].map((wanted) =>
    asked.filter((path) => path.startsWith("/token") === wanted),
  );
  expect(others).toContain("/v2/app/manifests/v1?ns=registry.invalid%3A5000");
  expect(others?.filter((path) => path.includes("/blobs/")).length).toBeGreaterThanOrEqual(3);
  expect(others?.filter((path) => !path.endsWith("?ns=registry.invalid%3A5000"))).toEqual([]);
  expect(tokens).toHaveLength(1);
  expect([...(tokens ?? []), ...pathsOf(storage)].filter((path) => path.includes("ns="))).toEqual([]);
});

test("the image's own registry never gets the name, also after a mirror was tried", async () => {
  const empty = await start((_request, response) => {
    response.writeHead(404).end();
    return true;
  });
  const registry = await start();
  await pullFrom(registry.host, [empty]);
  expect(pathsOf(empty)).toContain(`/v2/app/manifests/v1?ns=${encodeURIComponent(registry.host)}`);
  expect(pathsOf(registry).length).toBeGreaterThanOrEqual(4);
  expect(pathsOf(registry).filter((path) => path.includes("?"))).toEqual([]);
});
