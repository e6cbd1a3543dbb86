import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLayerStore } from "./layer-store.ts";

test("a layer whose commit fails is not listed", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "kindling-layers-"));
  const result = {
    ...{ diffId: "sha256:a", bytes: 0, entries: 0 },
    ...{ whiteouts: [], opaque: [], implicit: [], skipped: [] },
  };
  try {
    const layers = await openLayerStore({ dataDir, bootId: "boot" });
    // Blocks the rename of the first layer.
    mkdirSync(join(layers.directory, "1/full"), { recursive: true });
    await expect(layers.commit(await layers.stage(), result, 0)).rejects.toThrow();
    expect(layers.find(result.diffId)).toBeUndefined();
    await layers.commit(await layers.stage(), result, 0);
    expect(layers.find(result.diffId)).toMatchObject({ name: "2" });
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
