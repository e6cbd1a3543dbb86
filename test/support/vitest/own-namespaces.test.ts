import { readlink } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { canCreateNamespaces } from "./own-namespaces.ts";

const runs = canCreateNamespaces();

describe.runIf(runs)(`a worker of node tests${runs ? "" : " [needs root, unshare and ip]"}`, () => {
  test.each(["net", "mnt"])("has a %s namespace that the test runner does not share", async (kind) => {
    const own = await readlink(`/proc/self/ns/${kind}`);
    expect(own).not.toBe(await readlink(`/proc/${process.ppid}/ns/${kind}`));
  });

  test("has loopback as its only interface", () => {
    expect(Object.keys(networkInterfaces())).toEqual(["lo"]);
  });
});
