import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { canMountOverlay } from "./rootfs-store.ts";
import { createSpecialFiles } from "./special-files.ts";
import { describeAsRoot } from "./unpack-layer.fixture.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kindling-special-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describeAsRoot("special files", () => {
  test.each(["plain", "with:colon", "with,comma"])(
    "are created in a directory whose name is %s",
    async (name) => {
      const scratch = join(folder, name);
      mkdirSync(scratch);
      const special = createSpecialFiles(scratch);
      expect(special.placeWhiteout(Buffer.from(join(scratch, "gone\xff"), "latin1"))).toBe(true);
      const canMount = await canMountOverlay(scratch);
      expect(special.takeOpaqueDirectory() !== undefined).toBe(canMount);
      const pipe = special.makeNode({ type: "fifo", major: 0, minor: 0 });
      expect(pipe !== undefined && existsSync(pipe) && lstatSync(pipe).isFIFO()).toBe(true);
    },
  );
});
