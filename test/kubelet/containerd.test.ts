import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startContainerd } from "../support/containerd.ts";
import { toolPath } from "../support/tools.ts";
for (const tool of ["containerd", "containerd-2"] as const) test(tool, async () => {
  const c = await startContainerd({ program: toolPath(tool), folder: await mkdtemp(join(tmpdir(), "kdl-c-")) });
  console.log(await c.client.runtime.version({ version: "" }), await c.ctr("images", "ls"));
  await c.stop();
  expect(1).toBe(1);
});
