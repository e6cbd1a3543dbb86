import { describe, expect, test } from "vitest";
import { makePod, makePodWith } from "../containers/make-pod.fixture.ts";
import { podField, resourceField } from "./downward-api.ts";

describe("podField", () => {
  const pod = makePod(
    { serviceAccountName: "robot" },
    { labels: { "app.kubernetes.io/name": "shop" }, annotations: { Note: "x" } },
  );
  const addresses = { podIps: ["10.0.0.2", "fd00::2"], hostIps: ["192.0.2.1", "fd00::1"] };

  test.each([
    ["metadata.name", "web"],
    ["metadata.namespace", "shop"],
    ["metadata.uid", "u-1"],
    ["metadata.labels['app.kubernetes.io/name']", "shop"],
    ["metadata.labels['other']", ""],
    ["metadata.labels['constructor']", ""],
    ["metadata.annotations['Note']", "x"],
    ["spec.nodeName", "n1"],
    ["spec.host", "n1"],
    ["spec.serviceAccountName", "robot"],
    ["status.hostIP", "192.0.2.1"],
    ["status.hostIPs", "192.0.2.1,fd00::1"],
    ["status.podIP", "10.0.0.2"],
    ["status.podIPs", "10.0.0.2,fd00::2"],
  ])("%s is %j", (path, value) => {
    expect(podField(pod, path, addresses)).toBe(value);
  });

  test.each([
    ["status.phase", "unsupported fieldPath: status.phase"],
    ["spec['x']", `fieldPath "spec['x']" does not support subscript`],
  ])("%s is refused", (path, message) => {
    expect(() => podField(pod, path, addresses)).toThrow(message);
  });
});

describe("resourceField", () => {
  const allocatable = { cpu: "3900m", memory: "7Gi", "ephemeral-storage": "10Gi" };
  const { pod, container } = makePodWith({
    resources: {
      limits: { cpu: "1500m", "hugepages-2Mi": "4Mi" },
      requests: { cpu: "250m", memory: "100M" },
    },
  });
  const value = (ref: Parameters<typeof resourceField>[1]) =>
    resourceField({ pod, container, allocatable }, ref);

  test.each([
    ["limits.cpu", undefined, "2"],
    ["limits.cpu", "1m", "1500"],
    ["limits.cpu", "0", "2"],
    ["limits.memory", "1Mi", "7168"],
    ["limits.ephemeral-storage", "1Gi", "10"],
    ["limits.hugepages-2Mi", "1Mi", "4"],
    ["limits.hugepages-1Gi", undefined, "0"],
    ["requests.cpu", "1m", "250"],
    ["requests.memory", "1Mi", "96"],
    ["requests.ephemeral-storage", undefined, "0"],
  ])("%s by %s is %s", (resource, divisor, amount) => {
    expect(value({ resource, divisor })).toBe(amount);
  });

  test("resolves another container, and rejects a missing one", () => {
    const two = makePod({
      containers: [{ name: "c" }],
      initContainers: [{ name: "i", resources: { requests: { cpu: "2" } } }],
    });
    const read = (containerName: string) =>
      resourceField({ pod: two, container, allocatable }, { resource: "requests.cpu", containerName });
    expect(read("i")).toBe("2");
    expect(() => read("x")).toThrow("container x not found");
  });

  test("the pod's limit takes precedence over the node's", () => {
    const { pod, container } = makePodWith({}, { resources: { limits: { memory: "1Gi" } } });
    const field = resourceField(
      { pod, container, allocatable },
      { resource: "limits.memory", divisor: "1Mi" },
    );
    expect(field).toBe("1024");
  });

  test("rejects fields that upstream does not support", () => {
    expect(() => value({ resource: "limits.gpu" })).toThrow("unsupported container resource : limits.gpu");
  });
});
