import { expect, test } from "vitest";
import { decideCgroups } from "./check-cgroups.ts";

test.each([
  ["v2", [], "auto", undefined],
  ["hybrid", [], "oci", undefined],
  ["none", [], "oci", { fatal: true, says: "choose --runtime host" }],
  ["none", [], "auto", { fatal: false, says: "without limits" }],
  ["none", [], "host", { fatal: false, says: "without limits" }],
  ["v2", ["/sys/fs/cgroup"], "auto", { fatal: true, says: "/sys/fs/cgroup cannot be written to here" }],
] as const)("%s, read-only %j, driver %s", (kind, readOnly, driver, expected) => {
  const problem = decideCgroups({ kind, readOnly, driver });
  expect(problem?.fatal).toBe(expected?.fatal);
  expect(problem?.sentence ?? "").toContain(expected?.says ?? "");
});
