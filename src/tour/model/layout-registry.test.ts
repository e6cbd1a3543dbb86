import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { writeLayout } from "../../runtime/images/build-image.ts";
import { serveLayout } from "./layout-registry.ts";

/** Starts a registry with an image of one file. */
async function startRegistry() {
  const folder = await mkdtemp(join(tmpdir(), "kindling-layout-"));
  await mkdir(join(folder, "tree"));
  await writeFile(join(folder, "tree/file"), "hello");
  const layout = join(folder, "layout");
  await writeLayout(layout, { directory: join(folder, "tree"), tag: "t" });
  const registry = await serveLayout({ layout, bytesPerSecond: 2 ** 30, clock: systemClock });
  onTestFinished(async () => {
    await registry.close();
    await rm(folder, { recursive: true });
  });
  return `http://${registry.host}`;
}

test("serves the image under any name, and its layers whole or as a range", async () => {
  const url = await startRegistry();
  const manifest = await fetch(`${url}/v2/any/name/manifests/1`);
  expect(manifest.headers.get("content-type")).toBe("application/vnd.oci.image.manifest.v1+json");
  const text = await manifest.text();
  const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
  expect(manifest.headers.get("docker-content-digest")).toBe(digest);
  const [layer] = JSON.parse(text).layers;
  const blob = `${url}/v2/any/name/blobs/${layer.digest}`;
  const whole = Buffer.from(await (await fetch(blob)).arrayBuffer());
  expect(`sha256:${createHash("sha256").update(whole).digest("hex")}`).toBe(layer.digest);
  const rest = await fetch(blob, { headers: { range: "bytes=100-" } });
  expect(rest.status).toBe(206);
  expect(Buffer.from(await rest.arrayBuffer())).toEqual(whole.subarray(100));
});

test.each([
  "/v2/name/blobs/sha256:../../../../etc/passwd",
  `/v2/name/blobs/sha256:${"0".repeat(64)}`,
  "/v2/name/blobs/latest",
  "/elsewhere",
])("responds with 404 to any other path: %s", async (path) => {
  expect((await fetch((await startRegistry()) + path)).status).toBe(404);
});
