import { expect, test } from "vitest";
import { generate, makePod, observe, sandbox } from "./status.fixture.ts";

test.each([
  [["192.168.0.7"], ["fd00::5", "10.0.0.5", "10.0.0.6"], ["10.0.0.5", "fd00::5"]],
  [["fd00::1"], ["10.0.0.5", "fd00::5"], ["fd00::5", "10.0.0.5"]],
  [[], ["10.0.0.5"], ["10.0.0.5"]],
])("node %j, sandbox %j: pod %j", (hostIps, ips, expected) => {
  const status = generate({ hostIps, observed: observe([], [sandbox({ ips })]) });
  expect(status.podIPs?.map(({ ip }) => ip)).toEqual(expected);
  expect(status.hostIPs?.map(({ ip }) => ip) ?? []).toEqual(hostIps);
});

test("on the host's network they are the host's, and stay when those change", () => {
  const pod = makePod({ spec: { hostNetwork: true } });
  const observed = observe([], [sandbox({ ips: [] })]);
  const first = generate({ pod, observed });
  expect(first.podIPs).toEqual([{ ip: "192.168.0.7" }]);
  const second = generate({ pod, observed, previous: first, hostIps: ["192.168.0.8", "fd00::8"] });
  expect(second.podIPs).toEqual([{ ip: "192.168.0.7" }, { ip: "fd00::8" }]);
  expect(second.hostIP).toBe("192.168.0.8");
});
