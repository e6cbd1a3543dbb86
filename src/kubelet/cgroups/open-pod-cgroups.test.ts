import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { CgroupDriver } from "../../cri/generated/cri.ts";
import { readCgroupDriver } from "./open-pod-cgroups.ts";

const { signal } = new AbortController();
const ask = (runtimeConfig: () => Promise<{ linux: { cgroupDriver: CgroupDriver } | undefined }>) =>
  readCgroupDriver({ runtime: { runtimeConfig } }, { otherwise: "systemd", signal });
const failing = (code: status) => () =>
  Promise.reject(Object.assign(new Error("no"), { code, details: "no" }));

test.each([
  [{ cgroupDriver: CgroupDriver.SYSTEMD }, "systemd"],
  [{ cgroupDriver: CgroupDriver.CGROUPFS }, "cgroupfs"],
  [undefined, "none"],
])("a runtime that says %j", async (linux, driver) => {
  expect(await ask(async () => ({ linux }))).toBe(driver);
});

test("a runtime without the call has the default driver, and an unavailable one is an error", async () => {
  expect(await ask(failing(status.UNIMPLEMENTED))).toBe("systemd");
  await expect(ask(failing(status.UNAVAILABLE))).rejects.toThrow("no");
});
