import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status as codes } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadOrCreatePki } from "../../src/apiserver/auth/pki/pki.ts";
import { type AuthConfig, ImageSpec, PullImageRequest } from "../../src/cri/generated/cri.ts";
import { hostPlatform, mediaTypes } from "../../src/runtime/registry/manifest.ts";
import { parseRuntimeConfig } from "../../src/runtime/runtime-config.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { type FakeRegistry, layerOf, startFakeRegistry } from "../support/registry/fake-registry.ts";

/** The kernel takes it for this machine, and we do not take it for loopback, which would have plain HTTP anyway. */
const hostOf = ({ host }: FakeRegistry) => host.replace("127.0.0.1", "0.0.0.0");
const layers = [layerOf("hello", "hello\n")];
const absent = (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(404).end();
  return true;
};

describeWithTool("busybox", "registries over CRI", () => {
  let folder: string;
  let runtime: CriRuntime;
  let registries: Record<"mirror" | "emptyMirror" | "plain" | "secure" | "strange", FakeRegistry>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "kindling-registries-"));
    const pki = await loadOrCreatePki({ directory: folder, hosts: ["0.0.0.0"], now: Date.now() });
    const tls = pki.serving;
    registries = {
      mirror: await startFakeRegistry({ layers }),
      emptyMirror: await startFakeRegistry({ layers, handle: absent }),
      plain: await startFakeRegistry({ layers }),
      secure: await startFakeRegistry({ layers, tls }),
      strange: await startFakeRegistry({ layers, tls }),
    };
    const { mirror, emptyMirror, plain, secure } = registries;
    const runtimeConfig = parseRuntimeConfig(
      `
mirrors:
  registry.invalid: ["http://${emptyMirror.host}", "http://${mirror.host}"]
  ${hostOf(plain)}: ["http://${emptyMirror.host}"]
plainHttp: ["${hostOf(plain)}"]
pinnedImages: ["registry.invalid/app:v1"]
certificateAuthorities:
  ${hostOf(secure)}: ${join(folder, "ca.crt")}
`,
      "config.yaml",
    );
    runtime = await startCriRuntime({ driver: "host", runtimeConfig });
  });
  afterAll(async () => {
    await runtime?.stop();
    await Promise.all(Object.values(registries ?? {}).map((registry) => registry.stop()));
    await rm(folder, { recursive: true, force: true });
  });

  async function pull(image: string, auth?: Partial<AuthConfig>): Promise<string[]> {
    const { images } = runtime.client;
    const request = PullImageRequest.fromPartial({ image: { image }, auth });
    const { imageRef } = await images.pullImage(request);
    const status = await images.imageStatus({ image: ImageSpec.fromPartial({ image }), verbose: false });
    await images.removeImage({ image: ImageSpec.fromPartial({ image: imageRef }) });
    return [...(status.image?.repoTags ?? []), ...(status.image?.repoDigests ?? [])];
  }

  test("a mirror stands for the registry, after one that does not have the image", async () => {
    const { mirror, emptyMirror } = registries;
    expect(await pull("registry.invalid/app:v1")).toEqual([
      "registry.invalid/app:v1",
      `registry.invalid/app@${mirror.manifestDigest}`,
    ]);
    const asked = emptyMirror.requests.map(({ path }) => path);
    expect(asked).toContain("/v2/app/manifests/v1?ns=registry.invalid");
    expect(mirror.requests.some(({ path }) => path.includes("/blobs/"))).toBe(true);
  });

  test("an image that the configuration pins is shown as pinned, another is not, and it can be removed", async () => {
    const { images } = runtime.client;
    const refs = ["registry.invalid/app:v1", `${hostOf(registries.plain)}/app:v1`].map((image) => ({
      image,
    }));
    const pinnedOf = async (image: { image: string }) =>
      (await images.imageStatus({ image: ImageSpec.fromPartial(image), verbose: false })).image?.pinned;
    await images.pullImage(PullImageRequest.fromPartial({ image: refs[1] }));
    expect(await Promise.all(refs.map(pinnedOf))).toEqual([undefined, false]);
    await images.pullImage(PullImageRequest.fromPartial({ image: refs[0] }));
    // One image of two names: what one of them is pinned by holds the other.
    expect(await Promise.all(refs.map(pinnedOf))).toEqual([true, true]);
    const { images: listed } = await images.listImages({ filter: undefined });
    expect(listed.filter(({ pinned }) => pinned).map(({ repoTags }) => repoTags)).toEqual([
      expect.arrayContaining(["registry.invalid/app:v1"]),
    ]);
    await images.removeImage({ image: ImageSpec.fromPartial(refs[0] ?? {}) });
    expect(await Promise.all(refs.map(pinnedOf))).toEqual([undefined, undefined]);
  });

  test("a plainHttp host is contacted over HTTP, after its mirrors", async () => {
    const host = hostOf(registries.plain);
    expect(await pull(`${host}/app:v1`)).toContain(`${host}/app:v1`);
    expect(registries.plain.requests.length).toBeGreaterThan(0);
  });

  test("a registry whose certificate a private authority has signed", async () => {
    const host = hostOf(registries.secure);
    expect(await pull(`${host}/app:v1`)).toContain(`${host}/app:v1`);
  });

  test("the certificate is not trusted for another host", async () => {
    const call = pull(`${hostOf(registries.strange)}/app:v1`);
    await expect(call).rejects.toMatchObject({
      details: expect.stringMatching(/cannot reach 0\.0\.0\.0:\d+: .*certificate/),
    });
  });

  describe("an index", () => {
    const other = { os: "linux", architecture: "riscv128" };
    const digest = `sha256:${"0".repeat(64)}`;
    let index: FakeRegistry;

    async function startIndex(platforms: readonly object[]): Promise<void> {
      let found = "";
      index = await startFakeRegistry({
        layers,
        handle(request, response) {
          if (!request.url?.endsWith("/manifests/v1")) return false;
          const manifests = platforms.map((platform) => ({
            mediaType: mediaTypes.ociManifest,
            digest: platform === other ? digest : found,
            size: 1,
            platform,
          }));
          response.setHeader("content-type", "application/vnd.oci.image.index.v1+json");
          response.end(JSON.stringify({ schemaVersion: 2, manifests }));
          return true;
        },
      });
      found = index.manifestDigest;
    }

    test("of several platforms gives this machine's image, under the index's digest", async () => {
      await startIndex([other, hostPlatform]);
      const names = await pull(index.reference);
      expect(names[0]).toBe(index.reference);
      expect(names[1]).not.toContain(index.manifestDigest);
      const asked = index.requests
        .map(({ path }) => path)
        .filter((path) => path.includes("/manifests/sha256"));
      expect(asked).toEqual([`/v2/app/manifests/${index.manifestDigest}`]);
      await index.stop();
    });

    test("without this machine's platform is reported", async () => {
      await startIndex([other]);
      await expect(pull(index.reference)).rejects.toMatchObject({
        details: expect.stringContaining(`has no image for linux/${hostPlatform.architecture}`),
      });
      await index.stop();
    });
  });

  test("a token server gets the request's credentials, the registry only the token", async () => {
    const basic = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    const tokens: (string | undefined)[] = [];
    const guarded: FakeRegistry = await startFakeRegistry({
      layers,
      handle(request, response) {
        if (request.url?.startsWith("/token")) {
          tokens.push(request.headers.authorization);
          const good = request.headers.authorization === basic;
          response.writeHead(good ? 200 : 401).end('{"access_token":"t0k"}');
          return true;
        }
        if (request.headers.authorization === "Bearer t0k") return false;
        const realm = `Bearer realm="http://${guarded.host}/token",service="fake"`;
        response.writeHead(401, { "www-authenticate": realm }).end();
        return true;
      },
    });
    await expect(pull(guarded.reference)).rejects.toMatchObject({ code: codes.UNAUTHENTICATED });
    expect(await pull(guarded.reference, { username: "me", password: "secret" })).toContain(
      guarded.reference,
    );
    expect(tokens).toEqual([undefined, basic]);
    const sent = guarded.requests.filter(({ path }) => path.startsWith("/v2/"));
    expect(sent.map(({ authorization }) => authorization)).not.toContain(basic);
    await guarded.stop();
  });
});
