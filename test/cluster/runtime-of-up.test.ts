import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectCri } from "../../src/cri/cri-client.ts";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runKindling } from "../support/programs/run-kindling.ts";

const home = temporaryFolder();
/** A variable that is set to nothing is not set. */
const env = { HOME: home, CONTAINER_RUNTIME_ENDPOINT: "" };

describe.skipIf(process.getuid?.() !== 0)("commands about images, beside a kindling up [needs root]", () => {
  let up: UpProcess;
  beforeAll(async () => {
    up = await startUp(["--data-dir", join(home, ".kindling"), "--dashboard", "off"]);
  });
  afterAll(() => up?.kill("SIGTERM"));

  async function kindling(...args: string[]) {
    const run = await runKindling(args, { env });
    return { code: await run.exit, ...run.output };
  }

  test("pull uses its runtime", async () => {
    const { code, stderr } = await kindling("pull", "127.0.0.1:1/nothing:1");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^kindling: cannot pull 127\.0\.0\.1:1\/nothing:1: .*ECONNREFUSED/m);
  });

  test("status names the one that was chosen", async () => {
    const { code, stdout } = await kindling("status", "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout).runtime).toMatch(/^(oci \((runc|crun)\)|host)$/);
  });

  test("runtime build gives it an image", async () => {
    const site = join(home, "site");
    await mkdir(site);
    await writeFile(join(site, "index.html"), "hello");
    expect(await kindling("runtime", "build", site, "--tag", "site:1")).toMatchObject({ code: 0 });
    const cri = connectCri(`unix://${join(home, ".kindling/nodes/node-1/runtime.sock")}`);
    const { images } = await cri.images.listImages({ filter: undefined });
    cri.close();
    expect(images.flatMap(({ repoTags }) => repoTags)).toContain("docker.io/library/site:1");
  });
});
