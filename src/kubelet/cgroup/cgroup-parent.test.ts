import { expect, test } from "vitest";
import { makePod } from "../container/make-pod.fixture.ts";
import { cgroupParent } from "./cgroup-parent.ts";

const fixed = [{ name: "c", resources: { limits: { cpu: "1", memory: "1Gi" } } }];

test.each([
  ["cgroupfs", "/", {}, "/kubepods/besteffort/podu-1"],
  ["cgroupfs", "/outer", { containers: fixed }, "/outer/kubepods/podu-1"],
  ["systemd", "/", {}, "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice"],
  ["systemd", "/", { containers: fixed }, "/kubepods.slice/kubepods-podu_1.slice"],
] as const)("%s under %s", (driver, root, spec, parent) => {
  const containers = "containers" in spec ? [...spec.containers] : [{ name: "c" }];
  expect(cgroupParent(makePod({ containers }), { driver, root })).toBe(parent);
});
