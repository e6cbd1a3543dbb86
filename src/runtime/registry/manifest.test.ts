import { expect, test } from "vitest";
import { choosePlatform, type Platform } from "./manifest.ts";

const amd64: Platform = { os: "linux", architecture: "amd64" };
const arm7: Platform = { os: "linux", architecture: "arm", variant: "v7" };
const entry = (name: string, platform?: Partial<Platform>) => ({ name, platform });
const index = [
  entry("attestation", { os: "unknown", architecture: "unknown" }),
  entry("armv6", { os: "linux", architecture: "arm", variant: "v6" }),
  entry("armv7", { os: "linux", architecture: "arm", variant: "v7" }),
  entry("amd64-v3", { os: "linux", architecture: "amd64", variant: "v3" }),
  entry("amd64", { os: "linux", architecture: "amd64" }),
  entry("amd64-again", { os: "linux", architecture: "amd64" }),
  entry("arm64", { os: "linux", architecture: "arm64" }),
  entry("windows", { os: "windows", architecture: "amd64" }),
];

test.each([
  ["takes the first match", amd64, "amd64"],
  ["prefers the exact variant", arm7, "armv7"],
  ["takes an older variant when the wanted one is missing", { ...arm7, variant: "v8" }, "armv7"],
  [
    "assumes the default variant when none is given",
    { os: "linux", architecture: "arm64", variant: "v8" },
    "arm64",
  ],
  ["returns nothing for a missing platform", { os: "linux", architecture: "riscv64" }, undefined],
])("%s", (_name, wanted, expected) => {
  expect(choosePlatform(index, wanted)?.name).toBe(expected);
});

test("falls back to an entry without a platform", () => {
  expect(choosePlatform([entry("any")], amd64)?.name).toBe("any");
  expect(choosePlatform([entry("any"), entry("exact", amd64)], amd64)?.name).toBe("exact");
});
