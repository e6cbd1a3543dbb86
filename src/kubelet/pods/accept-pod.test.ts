import { describe, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { createPodAcceptance, rejectPod } from "./accept-pod.ts";

const pod = (requests: Record<string, string> = {}, more: object = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", resources: { requests } }], ...more },
});
const withPort = (port: object) =>
  pod({}, { containers: [{ name: "c", ports: [{ containerPort: 80, ...port }] }] });
const node = { name: "n", labels: { zone: "a" } };
const allocatable = { cpu: "2", memory: "1Gi", pods: "2" };

test.each([
  { name: "sufficient resources", given: pod({ cpu: "1", memory: "1Gi" }), others: [], expected: undefined },
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
    name: "a resource that the node does not report",
    given: pod({ "example.com/x": "5" }),
    others: [],
    expected: undefined,
  },
  {
    name: "matching node affinity",
    given: pod({}, { nodeSelector: { zone: "a" } }),
    others: [],
    expected: undefined,
  },
  {
    name: "node affinity that does not match",
    given: pod({}, { nodeSelector: { zone: "b" } }),
    others: [],
    expected:
      "NodeAffinity: Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  },
  {
    name: "a host port that another pod uses",
    given: withPort({ hostPort: 80, hostIP: "10.0.0.1" }),
    others: [withPort({ hostPort: 80 })],
    expected:
      "NodePorts: Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  },
  {
    name: "the same host port of another protocol",
    given: withPort({ hostPort: 80, protocol: "UDP" }),
    others: [withPort({ hostPort: 80 })],
    expected: undefined,
  },
  {
    name: "an unsafe sysctl",
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

describe("a pod whose affinity does not match the known node", () => {
  const selecting = pod({}, { nodeSelector: { zone: "b" } });
  const accept = (refreshed: string | Error) => {
    let labels = node.labels;
    return createPodAcceptance({
      workers: { listExpected: () => [], has: () => true },
      observer: { get: () => undefined },
      node: () => ({ name: "n", labels, allocatable }),
      refreshNode: async () => {
        if (refreshed instanceof Error) throw refreshed;
        labels = { zone: refreshed };
      },
      config: { allowedUnsafeSysctls: [] },
      isShuttingDown: () => false,
    })(selecting, new AbortController().signal);
  };

  test.each([
    { name: "is accepted if the node in the API matches", refreshed: "b", expected: undefined },
    {
      name: "is rejected if the node in the API does not match either",
      refreshed: "c",
      expected: "NodeAffinity",
    },
    {
      name: "is rejected if the node cannot be read",
      refreshed: new Error("refused"),
      expected: "NodeAffinity",
    },
  ])("$name", async ({ refreshed, expected }) => {
    expect((await accept(refreshed))?.reason).toBe(expected);
  });
});
