import { expect, test } from "vitest";
import { choosePlatform, type Platform } from "./platform.ts";

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
  ["the first that fits", amd64, "amd64"],
  ["the exact variant", arm7, "armv7"],
  ["an older variant when ours is missing", { ...arm7, variant: "v8" }, "armv7"],
  ["the variant left out is the usual one", { os: "linux", architecture: "arm64", variant: "v8" }, "arm64"],
  ["none for a platform that is not there", { os: "linux", architecture: "riscv64" }, undefined],
])("%s", (_name, wanted, expected) => {
  expect(choosePlatform(index, wanted)?.name).toBe(expected);
});

test("an entry without a platform serves when nothing names ours", () => {
  expect(choosePlatform([entry("any")], amd64)?.name).toBe("any");
  expect(choosePlatform([entry("any"), entry("exact", amd64)], amd64)?.name).toBe("exact");
});
