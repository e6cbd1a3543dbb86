import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../api/feature-gates.ts";
import type { KubeObject } from "../../api/objects.ts";
import { findResourceOfKind } from "../../api/resources.ts";
import { sentences } from "../../api/validation/pod.fixture.ts";
import { strategyFor } from "./strategies.ts";

const context = { features: defaultFeatures, now: Date.parse("2026-01-02T03:04:05Z") };

function strategyOf(apiVersion: string, kind: string) {
  const resource = findResourceOfKind(apiVersion, kind);
  if (!resource) throw new Error(kind);
  return strategyFor(resource);
}

function make(apiVersion: string, kind: string, fields: object): KubeObject {
  const object = {
    apiVersion,
    kind,
    metadata: { name: "a", namespace: "default" },
    ...structuredClone(fields),
  };
  strategyOf(apiVersion, kind).applyDefaults?.(object, context);
  return object;
}

describe("create", () => {
  test.each<[string, string, object, string[]]>([
    [
      "v1",
      "ConfigMap",
      { data: { "a b": "" } },
      [
        "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      ],
    ],
    [
      "v1",
      "ConfigMap",
      { data: { a: "" }, binaryData: { a: "" } },
      ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    ],
    [
      "v1",
      "ConfigMap",
      { data: { a: "x".repeat(1024 * 1024 + 1) } },
      ["[]: Too long: may not be more than 1048576 bytes"],
    ],
    ["v1", "ConfigMap", { data: { a: "x".repeat(1024 * 1024) } }, []],
    [
      "v1",
      "Secret",
      { type: "kubernetes.io/tls", data: {} },
      ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
    ],
    ["v1", "Secret", { type: "kubernetes.io/basic-auth", stringData: { username: "a" } }, []],
    [
      "v1",
      "Secret",
      { type: "kubernetes.io/basic-auth" },
      ["data[username]: Required value", "data[password]: Required value"],
    ],
    [
      "v1",
      "Secret",
      { type: "kubernetes.io/service-account-token" },
      ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ],
    [
      "v1",
      "Secret",
      { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "{}" } },
      [],
    ],
    [
      "v1",
      "Secret",
      { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "[1]" } },
      [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    ],
    ["v1", "Secret", { type: "example.com/own", data: {} }, []],
    ["v1", "Node", { spec: { podCIDRs: ["10.0.0.0/24", "fd00::/64"] } }, []],
    [
      "v1",
      "Node",
      { spec: { podCIDRs: ["10.0.0.0/24", "10.0.1.0/24"] } },
      [
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family',
      ],
    ],
    [
      "v1",
      "Node",
      {
        spec: {
          taints: [
            { key: "a", effect: "NoExecute" },
            { key: "a", effect: "NoExecute" },
          ],
        },
      },
      [
        'metadata.taints[1]: Duplicate value: {"key":"a","effect":"NoExecute"}: taints must be unique by key and effect pair',
      ],
    ],
    [
      "v1",
      "Node",
      { spec: { taints: [{ key: "a", effect: "Never" }] } },
      [
        'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    [
      "v1",
      "Node",
      { status: { capacity: { pods: "1500m" } } },
      [
        'status.capacity.pods: Invalid value: "1500m": must be an integer',
        'status.allocatable.pods: Invalid value: "1500m": must be an integer',
      ],
    ],
    [
      "v1",
      "Namespace",
      { spec: { finalizers: ["nope"] } },
      [
        'spec.finalizers: Invalid value: "nope": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      "v1",
      "Endpoints",
      { subsets: [{}, { addresses: [{ ip: "169.254.1.1" }], ports: [{ port: 1 }, { port: 2 }] }] },
      [
        "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
        'subsets[1].addresses[0].ip: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
        "subsets[1].ports[0].name: Required value",
        "subsets[1].ports[1].name: Required value",
      ],
    ],
    [
      "discovery.k8s.io/v1",
      "EndpointSlice",
      { addressType: "IPv6", endpoints: [{ addresses: ["FD00::1"] }] },
      ['endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")'],
    ],
    [
      "discovery.k8s.io/v1",
      "EndpointSlice",
      { addressType: "FQDN", endpoints: [{ addresses: ["localhost"] }, {}] },
      [
        'endpoints[0].addresses[0]: Invalid value: "localhost": should be a domain with at least two segments separated by dots',
        "endpoints[1].addresses: Required value: must contain at least 1 address",
      ],
    ],
    [
      "discovery.k8s.io/v1",
      "EndpointSlice",
      { addressType: "Pigeon", ports: [{ port: 1 }, { port: 2 }] },
      [
        'addressType: Unsupported value: "Pigeon": supported values: "FQDN", "IPv4", "IPv6"',
        'ports[1].name: Duplicate value: ""',
      ],
    ],
    [
      "v1",
      "PersistentVolume",
      { spec: { accessModes: ["Sometimes"] } },
      [
        'spec.accessModes: Unsupported value: "Sometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
        "spec.capacity: Required value",
        'spec.capacity: Unsupported value: null: supported values: "storage"',
        "spec: Required value: must specify a volume type",
      ],
    ],
    [
      "v1",
      "PersistentVolume",
      {
        spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, local: { path: "/mnt" } },
      },
      ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    ],
    [
      "v1",
      "PersistentVolume",
      {
        spec: {
          accessModes: ["ReadWriteOncePod", "ReadWriteOnce"],
          capacity: { storage: "0" },
          hostPath: { path: "/./" },
          persistentVolumeReclaimPolicy: "Recycle",
        },
      },
      [
        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
        'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
        "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      ],
    ],
    [
      "v1",
      "PersistentVolumeClaim",
      { spec: { accessModes: ["ReadWriteOnce"], volumeMode: "Tape" } },
      [
        "spec.resources[storage]: Required value",
        'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
      ],
    ],
    [
      "storage.k8s.io/v1",
      "StorageClass",
      { reclaimPolicy: "Burn", volumeBindingMode: "Later" },
      [
        "provisioner: Required value",
        'reclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"',
        'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
      ],
    ],
    [
      "node.k8s.io/v1",
      "RuntimeClass",
      { handler: "A", overhead: { podFixed: { pods: "1" } } },
      [
        "handler: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        'overhead.limits[pods]: Invalid value: "pods": must be a standard resource for containers',
      ],
    ],
    [
      "scheduling.k8s.io/v1",
      "PriorityClass",
      { value: 1_000_000_001 },
      ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ],
    [
      "scheduling.k8s.io/v1",
      "PriorityClass",
      { value: 1, metadata: { name: "system-mine" } },
      [
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
      ],
    ],
    [
      "scheduling.k8s.io/v1",
      "PriorityClass",
      {
        value: 2_000_001_000,
        metadata: { name: "system-node-critical" },
      },
      [],
    ],
    [
      "coordination.k8s.io/v1",
      "Lease",
      { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
      [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
      ],
    ],
    [
      "apps/v1",
      "ControllerRevision",
      { revision: -1, data: [] },
      [
        "revision: Invalid value: -1: must be greater than or equal to 0",
        "data: Required value: data must be a valid JSON object",
      ],
    ],
    [
      "policy/v1",
      "PodDisruptionBudget",
      { spec: { minAvailable: 1, maxUnavailable: "200%" } },
      [
        'spec: Invalid value: {"minAvailable":1,"maxUnavailable":"200%"}: minAvailable and maxUnavailable cannot be both set',
        'spec.maxUnavailable: Invalid value: "200%": must not be greater than 100%',
      ],
    ],
    [
      "rbac.authorization.k8s.io/v1",
      "Role",
      { rules: [{}, { nonResourceURLs: ["/a"], verbs: ["get"] }] },
      [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
        'rules[1].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
      ],
    ],
    [
      "rbac.authorization.k8s.io/v1",
      "ClusterRole",
      { aggregationRule: {} },
      [
        "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
      ],
    ],
    [
      "rbac.authorization.k8s.io/v1",
      "ClusterRoleBinding",
      {
        roleRef: { kind: "Role", name: "" },
        subjects: [
          { kind: "ServiceAccount", name: "a" },
          { kind: "Robot", name: "b" },
        ],
      },
      [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        "roleRef.name: Required value",
        "subjects[0].namespace: Required value",
        'subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
      ],
    ],
    [
      "v1",
      "Event",
      { involvedObject: { namespace: "other" } },
      ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ],
    [
      "events.k8s.io/v1",
      "Event",
      { involvedObject: { namespace: "default" }, count: 2, series: { count: 1 } },
      [
        'series.count: Invalid value: "": should be at least 2',
        "series.lastObservedTime: Required value",
        "eventTime: Required value",
        'type: Invalid value: "": has invalid value: ',
        'count: Invalid value: "": needs to be unset',
      ],
    ],
  ])("%s %s %.80j", (apiVersion, kind, fields, expected) => {
    const found = strategyOf(apiVersion, kind).validate?.(make(apiVersion, kind, fields), context) ?? [];
    expect(sentences(found)).toEqual(expected);
  });
});

describe("update", () => {
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } } };
  const bound = { status: { phase: "Bound", capacity: { storage: "1Gi" } } };
  const sized = (storage: string) => ({ ...bound, spec: { ...claim, resources: { requests: { storage } } } });

  test.each<[string, string, object, object, string[]]>([
    [
      "v1",
      "ConfigMap",
      { immutable: true, data: { a: "1" } },
      { data: { a: "2" } },
      [
        "immutable: Forbidden: field is immutable when `immutable` is set",
        "data: Forbidden: field is immutable when `immutable` is set",
      ],
    ],
    ["v1", "Secret", { type: "a" }, { type: "b" }, ['type: Invalid value: "b": field is immutable']],
    [
      "v1",
      "Node",
      { spec: { podCIDRs: ["10.0.0.0/24"], providerID: "a" } },
      { spec: { providerID: "b" } },
      [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
      ],
    ],
    ["v1", "PersistentVolumeClaim", sized("2Gi"), sized("3Gi"), []],
    ["v1", "PersistentVolumeClaim", sized("3Gi"), sized("2Gi"), []],
    [
      "v1",
      "PersistentVolumeClaim",
      sized("3Gi"),
      sized("1Gi"),
      ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    ],
    ["v1", "PersistentVolumeClaim", { spec: claim }, { spec: { ...claim, volumeName: "pv" } }, []],
    ["v1", "PersistentVolumeClaim", { spec: claim }, { spec: { ...claim, storageClassName: "fast" } }, []],
    [
      "storage.k8s.io/v1",
      "StorageClass",
      { provisioner: "a.b/c" },
      { provisioner: "a.b/c", reclaimPolicy: "Retain" },
      ['reclaimPolicy: Invalid value: "Retain": field is immutable'],
    ],
    [
      "node.k8s.io/v1",
      "RuntimeClass",
      { handler: "a" },
      { handler: "b" },
      ['handler: Invalid value: "b": field is immutable'],
    ],
    [
      "scheduling.k8s.io/v1",
      "PriorityClass",
      { value: 1 },
      { value: 2, preemptionPolicy: "Never" },
      [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
      ],
    ],
    [
      "apps/v1",
      "ControllerRevision",
      { revision: 1, data: { a: 1 } },
      { revision: 2, data: { a: 2 } },
      ['data: Invalid value: {"a":2}: field is immutable'],
    ],
    [
      "discovery.k8s.io/v1",
      "EndpointSlice",
      { addressType: "IPv4" },
      { addressType: "IPv6" },
      ['addressType: Invalid value: "IPv6": field is immutable'],
    ],
    [
      "rbac.authorization.k8s.io/v1",
      "RoleBinding",
      { roleRef: { kind: "Role", name: "a" } },
      {
        roleRef: { kind: "Role", name: "b" },
      },
      [
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: cannot change roleRef',
      ],
    ],
    [
      "apps/v1",
      "Deployment",
      {
        spec: {
          selector: { matchLabels: { a: "1" } },
          template: {
            metadata: { labels: { a: "1", b: "1" } },
            spec: { containers: [{ name: "a", image: "a" }] },
          },
        },
      },
      {
        spec: {
          selector: { matchLabels: { b: "1" } },
          template: {
            metadata: { labels: { a: "1", b: "1" } },
            spec: { containers: [{ name: "a", image: "a" }] },
          },
        },
      },
      ['spec.selector: Invalid value: {"matchLabels":{"b":"1"}}: field is immutable'],
    ],
  ])("%s %s %.60j to %.60j", (apiVersion, kind, before, after, expected) => {
    const current = make(apiVersion, kind, before);
    const next = make(apiVersion, kind, after);
    const strategy = strategyOf(apiVersion, kind);
    expect(sentences(strategy.validateUpdate?.(next, current, context) ?? [])).toEqual(expected);
  });

  test("a claim is fixed otherwise, and shows what was changed", () => {
    const current = make("v1", "PersistentVolumeClaim", { spec: claim });
    const next = make("v1", "PersistentVolumeClaim", { spec: { ...claim, accessModes: ["ReadOnlyMany"] } });
    const errors = strategyOf("v1", "PersistentVolumeClaim").validateUpdate?.(next, current, context) ?? [];
    expect(sentences(errors)[0]).toMatch(
      /^spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ [^\n]*\n(?:.*\n)*-.*ReadWriteOnce/,
    );
  });

  test("a volume keeps its source", () => {
    const spec = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
    const current = make("v1", "PersistentVolume", { spec: { ...spec, hostPath: { path: "/a" } } });
    const next = make("v1", "PersistentVolume", { spec: { ...spec, hostPath: { path: "/b" } } });
    const errors = strategyOf("v1", "PersistentVolume").validateUpdate?.(next, current, context) ?? [];
    expect(sentences(errors)[0]).toContain(
      "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n",
    );
  });
});

describe("deployments", () => {
  const template = { metadata: { labels: { a: "1" } }, spec: { containers: [{ name: "a", image: "a" }] } };
  const base = { selector: { matchLabels: { a: "1" } }, template };

  test.each<[object, string[]]>([
    [{}, []],
    [{ strategy: { type: "Recreate" } }, []],
    [
      { strategy: { type: "Recreate", rollingUpdate: {} } },
      ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    [
      { strategy: { type: "Blue" } },
      [
        'spec.strategy: Unsupported value: {"Type":"Blue","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
      ],
    ],
    [
      { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "0%" } } },
      ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
    ],
    [
      { minReadySeconds: 600 },
      ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    ],
    [
      { selector: { matchLabels: { a: "2" } } },
      [
        'spec.template.metadata.labels: Invalid value: {"a":"1"}: `selector` does not match template `labels`',
      ],
    ],
  ])("%j", (change, expected) => {
    const deployment = make("apps/v1", "Deployment", { spec: { ...base, ...change } });
    const found = strategyOf("apps/v1", "Deployment").validate?.(deployment, context) ?? [];
    expect(sentences(found)).toEqual(expected);
  });

  test("annotations count as a change, status does not", () => {
    const strategy = strategyOf("apps/v1", "Deployment");
    const current = make("apps/v1", "Deployment", { spec: base });
    strategy.prepareForCreate?.(current, context);
    const annotated = structuredClone(current);
    annotated.metadata.annotations = { a: "b" };
    strategy.prepareForUpdate?.(annotated, current, context);
    expect(annotated.metadata.generation).toBe(2);
    const observed = { ...structuredClone(current), status: { replicas: 1 } };
    strategy.prepareForUpdate?.(observed, current, context);
    expect(observed.metadata.generation).toBe(1);
    expect(observed.status).toEqual({});
  });
});

test("plain text in a secret becomes data", () => {
  const secret = make("v1", "Secret", { data: { a: "b2xk" }, stringData: { a: "new", b: "ä" } });
  expect(secret).toMatchObject({ type: "Opaque", data: { a: "bmV3", b: "w6Q=" } });
  expect(secret).not.toHaveProperty("stringData");
});

test("a namespace gets its label and its finalizer, and is held until it is empty", () => {
  const strategy = strategyOf("v1", "Namespace");
  const namespace = make("v1", "Namespace", {});
  strategy.prepareForCreate?.(namespace, context);
  expect(namespace).toMatchObject({
    metadata: { labels: { "kubernetes.io/metadata.name": "a" } },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  });
  expect(strategy.beginDeletion?.(namespace, context)).toBe("hold");
  expect(namespace).toMatchObject({ status: { phase: "Terminating" } });
  const emptied = { ...namespace, spec: { finalizers: [] } };
  expect(strategy.beginDeletion?.(emptied, context)).toBe("go");
});

test("a volume remembers when its phase changed", () => {
  const strategy = strategyOf("v1", "PersistentVolume");
  const current = make("v1", "PersistentVolume", {});
  strategy.prepareForCreate?.(current, { ...context, now: 0 });
  expect(current).toMatchObject({
    status: { phase: "Pending", lastPhaseTransitionTime: "1970-01-01T00:00:00Z" },
  });
  const next = { ...structuredClone(current), status: { phase: "Available" } };
  strategy.prepareForStatusUpdate?.(next, current, context);
  expect(next.status).toEqual({ phase: "Available", lastPhaseTransitionTime: "2026-01-02T03:04:05Z" });
});

test("a claim's two data sources follow each other", () => {
  const strategy = strategyOf("v1", "PersistentVolumeClaim");
  const source = { kind: "PersistentVolumeClaim", name: "old" };
  const one = make("v1", "PersistentVolumeClaim", { spec: { dataSource: source } });
  strategy.prepareForCreate?.(one, context);
  expect(one).toMatchObject({ spec: { dataSource: source, dataSourceRef: source } });
  const two = make("v1", "PersistentVolumeClaim", { spec: { dataSourceRef: source } });
  strategy.prepareForCreate?.(two, context);
  expect(two).toMatchObject({ spec: { dataSource: source, dataSourceRef: source } });
  const unknown = make("v1", "PersistentVolumeClaim", { spec: { dataSource: { kind: "Cat", name: "x" } } });
  strategy.prepareForCreate?.(unknown, context);
  expect(unknown).not.toHaveProperty("spec.dataSource");
});
