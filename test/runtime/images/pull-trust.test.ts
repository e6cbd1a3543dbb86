import { writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { serveBlob, startFakeRegistry } from "../../support/registry/fake-registry.ts";
import { isLayer, layer, useFaultyRegistry } from "../../support/registry/faulty-registry.ts";

const registry = useFaultyRegistry();
const { expectNothingUnpacked, pull, start } = registry;

describe("false responses", () => {
  const wrong = `sha256:${"ab".repeat(32)}`;
  test.each([
    ["digest", { digest: wrong }],
    ["length that is too small", { size: layer.length - 1 }],
    ["length that is too big", { size: layer.length + 1 }],
    ["diff_id", { diffId: wrong }],
  ])("a wrong %s fails the pull and leaves nothing", async (_name, lie) => {
    const { reference } = await start({ lie });
    await expect(pull({ reference })).rejects.toMatchObject({ code: "digestMismatch" });
    expectNothingUnpacked();
  });

  test("a layer longer than its descriptor is cut off when the response has no length", async () => {
    const { reference } = await start({
      lie: { size: 1_000 },
      handle: (request, response) => {
        if (!isLayer(request.url)) return false;
        response.write(layer);
        response.end();
        return true;
      },
    });
    await expect(pull({ reference })).rejects.toMatchObject({ code: "digestMismatch" });
  });

  test("a manifest that does not match the requested digest", async () => {
    const { host } = await start();
    const pulled = pull({ reference: `${host}/app@${wrong}` });
    await expect(pulled).rejects.toMatchObject({ code: "digestMismatch" });
  });
});

describe("authorization", () => {
  const basic = `Basic ${Buffer.from("me:secret").toString("base64")}`;

  /** Rejects requests without credentials. */
  function demandBasic({ headers }: IncomingMessage, response: ServerResponse): boolean {
    if (headers.authorization === basic) return false;
    response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
    return true;
  }

  test("basic", async () => {
    const { reference } = await start({ handle: demandBasic });
    await expect(pull({ reference })).rejects.toMatchObject({ code: "unauthorized" });
    const auth = { username: "me", password: "secret" };
    expect(await pull({ reference, auth })).toHaveLength(1);
  });

  test("basic, as docker's configuration file has it, also when it was written since the start", async () => {
    const { reference, host } = await start({ handle: demandBasic });
    await expect(pull({ reference })).rejects.toMatchObject({ code: "unauthorized" });
    const auths = { [`http://${host}/v2/`]: { auth: basic.slice("Basic ".length) } };
    await writeFile(join(registry.fixture.dataDir, "no-docker-config.json"), JSON.stringify({ auths }));
    expect(await pull({ reference })).toHaveLength(1);
  });

  test.each([
    ["a password", { auth: Buffer.from("me:secret").toString("base64") }, "GET"],
    ["an identity token", { identityToken: "idt" }, "POST"],
  ])("a token for %s", async (_name, auth, method) => {
    let host = "";
    const asked: string[] = [];
    const { reference, ...fake } = await start({
      handle: async (request, response) => {
        if (request.url?.startsWith("/token")) {
          let body = "";
          for await (const part of request) body += part;
          asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""} ${body}`);
          response.end('{"token":"t0k"}');
          return true;
        }
        if (request.headers.authorization === "Bearer t0k") return false;
        const realm = `http://${host}/token`;
        response.writeHead(401, { "www-authenticate": `Bearer realm="${realm}",service="fake"` }).end();
        return true;
      },
    });
    host = fake.host;
    expect(await pull({ reference, auth })).toHaveLength(1);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain(method);
    expect(asked[0]).toContain("service=fake");
    expect(asked[0]).toContain("repository%3Aapp%3Apull");
    expect(asked[0]).toContain(method === "GET" ? basic : "refresh_token=idt");
  });

  test("a redirect to another host is followed without the credentials", async () => {
    const seen: (string | undefined)[] = [];
    const store = await startFakeRegistry({
      layers: [layer],
      handle: (request, response) => {
        seen.push(request.headers.authorization);
        serveBlob(request, response, layer);
        return true;
      },
    });
    try {
      const { reference } = await start({
        handle: (request, response) => {
          if (demandBasic(request, response)) return true;
          if (!isLayer(request.url)) return false;
          response.writeHead(307, { location: `http://${store.host}/somewhere` }).end();
          return true;
        },
      });
      await pull({ reference, auth: { username: "me", password: "secret" } });
      expect(seen).toEqual([undefined]);
    } finally {
      await store.stop();
    }
  });
});
