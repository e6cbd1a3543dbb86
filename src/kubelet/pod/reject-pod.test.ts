import { expect, test } from "vitest";
import type { Pod } from "../../api/objects.ts";
import { rejectPod } from "./reject-pod.ts";

const pod = (requests: Record<string, string> = {}, more: object = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", resources: { requests } }], ...more },
});
const node = { name: "n", labels: { zone: "a" } };
const allocatable = { cpu: "2", memory: "1Gi", pods: "2" };

test.each([
  { name: "room enough", given: pod({ cpu: "1", memory: "1Gi" }), others: [], expected: undefined },
  {
    name: "too many pods",
    given: pod(),
    others: [pod(), pod()],
    expected:
      "OutOfpods: Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
  },
  {
    name: "no cpu left",
    given: pod({ cpu: "600m" }),
    others: [pod({ cpu: "1500m" })],
    expected:
      "OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu, requested: 600, used: 1500, capacity: 2000",
  },
  {
    name: "no memory left",
    given: pod({ memory: "2Gi" }),
    others: [],
    expected:
      "OutOfmemory: Pod was rejected: Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
  },
  {
    name: "a resource that nobody here counts",
    given: pod({ "example.com/x": "5" }),
    others: [],
    expected: undefined,
  },
  {
    name: "its kind of node",
    given: pod({}, { nodeSelector: { zone: "a" } }),
    others: [],
    expected: undefined,
  },
  {
    name: "another kind of node",
    given: pod({}, { nodeSelector: { zone: "b" } }),
    others: [],
    expected:
      "NodeAffinity: Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  },
  {
    name: "a kernel setting that others would feel",
    given: pod({}, { securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1" }] } }),
    others: [],
    expected: 'SysctlForbidden: Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted',
  },
  {
    name: "another operating system",
    given: pod({}, { os: { name: "windows" } }),
    others: [],
    expected:
      "PodOSNotSupported: Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
  },
])("$name", ({ given, others, expected }) => {
  const rejected = rejectPod({ pod: given, others, allocatable, node, allowedUnsafeSysctls: [] });
  expect(rejected && `${rejected.reason}: ${rejected.message}`).toBe(expected);
});
