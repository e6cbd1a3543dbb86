import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../meta/feature-gates.ts";
import type { KubeObject } from "../meta/objects.ts";
import { apiVersionOf } from "../meta/resource.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "../meta/validate-metadata.ts";
import { sentences } from "../pod/pod.fixture.ts";
import { builtInKinds } from "./built-in-kinds.ts";

const context = { features: defaultFeatures, now: Date.parse("2026-01-02T03:04:05Z") };
const selector = { matchLabels: { app: "a" } };
const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "a", image: "a" }] } };
const jobTemplate = { spec: { ...template.spec, restartPolicy: "Never" } };
const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const roleRef = { kind: "ClusterRole", name: "view" };

/** The smallest object of each kind that is accepted. */
const smallest: Record<string, object> = {
  "v1/Namespace": {},
  "v1/Pod": { spec: template.spec },
  "v1/Node": {},
  "v1/Event": { involvedObject: { kind: "Pod", name: "a", namespace: "default" }, reason: "Started" },
  "v1/ConfigMap": { data: { key: "value" }, binaryData: { bytes: "AAE=" } },
  "v1/Secret": { data: { key: "dmFsdWU=" } },
  "v1/ServiceAccount": {},
  "v1/Service": { spec: { ports: [{ port: 80 }], selector: { app: "a" } } },
  "v1/Endpoints": { subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }] },
  "v1/PersistentVolume": {
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/data" } },
  },
  "v1/PersistentVolumeClaim": { spec: claimSpec },
  "v1/ResourceQuota": { spec: { hard: { pods: "1" } } },
  "v1/LimitRange": { spec: { limits: [{ type: "Pod", max: { cpu: "1" } }] } },
  "apps/v1/StatefulSet": { spec: { selector, template, serviceName: "a" } },
  "apps/v1/DaemonSet": { spec: { selector, template } },
  "apps/v1/Deployment": { spec: { selector, template } },
  "apps/v1/ReplicaSet": { spec: { selector, template } },
  "apps/v1/ControllerRevision": { revision: 1, data: { spec: {} } },
  "batch/v1/Job": { spec: { template: jobTemplate } },
  "batch/v1/CronJob": { spec: { schedule: "* * * * *", jobTemplate: { spec: { template: jobTemplate } } } },
  "coordination.k8s.io/v1/Lease": { spec: { holderIdentity: "a", leaseDurationSeconds: 40 } },
  "discovery.k8s.io/v1/EndpointSlice": {
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"] }],
    ports: [{ port: 80 }],
  },
  "events.k8s.io/v1/Event": {
    // As the handler gives it: converted to the core group.
    involvedObject: { kind: "Pod", name: "a", namespace: "default" },
    eventTime: "2026-01-02T03:04:05.000000Z",
    reportingComponent: "example.com/controller",
    reportingInstance: "a-1",
    action: "Binding",
    reason: "Scheduled",
    type: "Normal",
  },
  "networking.k8s.io/v1/Ingress": {
    spec: { defaultBackend: { service: { name: "a", port: { number: 80 } } } },
  },
  "networking.k8s.io/v1/IngressClass": { spec: { controller: "example.com/controller" } },
  "networking.k8s.io/v1/NetworkPolicy": { spec: { podSelector: {} } },
  "node.k8s.io/v1/RuntimeClass": { handler: "runc" },
  "policy/v1/PodDisruptionBudget": { spec: { minAvailable: 1, selector } },
  "rbac.authorization.k8s.io/v1/Role": { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] },
  "rbac.authorization.k8s.io/v1/RoleBinding": { roleRef, subjects: [{ kind: "User", name: "jane" }] },
  "rbac.authorization.k8s.io/v1/ClusterRole": { rules: [{ nonResourceURLs: ["/healthz"], verbs: ["get"] }] },
  "rbac.authorization.k8s.io/v1/ClusterRoleBinding": {
    roleRef,
    subjects: [{ kind: "ServiceAccount", name: "a", namespace: "b" }],
  },
  "apiextensions.k8s.io/v1/CustomResourceDefinition": {
    metadata: { name: "as.example.com", uid: "1" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "as", kind: "A" },
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      ],
    },
  },
  "scheduling.k8s.io/v1/PriorityClass": { value: 1000 },
  "storage.k8s.io/v1/StorageClass": { provisioner: "kubernetes.io/no-provisioner" },
};

function make(apiVersion: string, kind: string, namespaced: boolean): KubeObject {
  const metadata = { name: "a", uid: "1", ...(namespaced && { namespace: "default" }) };
  return { apiVersion, kind, metadata, ...structuredClone(smallest[`${apiVersion}/${kind}`]) };
}

describe.each(
  builtInKinds.map((definition) => {
    const { resource } = definition;
    return [`${apiVersionOf(resource)}/${resource.kind}`, definition] as const;
  }),
)("%s", (_, { resource, strategy, subresources }) => {
  const { namespaced } = resource;

  function created(): KubeObject {
    const object = make(apiVersionOf(resource), resource.kind, namespaced);
    strategy.applyDefaults?.(object, context);
    strategy.prepareForCreate?.(object, context);
    return object;
  }

  test("the smallest object is accepted", () => {
    const object = created();
    const nameRule = strategy.nameRule ?? "dnsSubdomain";
    expect(sentences(validateObjectMeta(object.metadata, { namespaced, nameRule }))).toEqual([]);
    expect(sentences(strategy.validate?.(object, context) ?? [])).toEqual([]);
  });

  test("a stored object can be written back unchanged", () => {
    const current = created();
    current.metadata.resourceVersion = "1";
    const next = structuredClone(current);
    strategy.applyDefaults?.(next, context);
    strategy.prepareForUpdate?.(next, current, context);
    expect(next).toEqual(current);
    expect(sentences(validateObjectMetaUpdate(next.metadata, current.metadata))).toEqual([]);
    expect(sentences(strategy.validateUpdate?.(next, current, context) ?? [])).toEqual([]);
  });

  if (subresources.includes("status")) {
    test("its status can be written back", () => {
      const current = created();
      const next = structuredClone(current);
      strategy.applyDefaults?.(next, context);
      strategy.prepareForStatusUpdate?.(next, current, context);
      expect(next).toEqual(current);
      expect(sentences(strategy.validateStatusUpdate?.(next, current, context) ?? [])).toEqual([]);
    });
  }

  test("validates an empty object without an exception", () => {
    const object: KubeObject = { apiVersion: "", kind: "", metadata: {} };
    strategy.applyDefaults?.(object, context);
    strategy.prepareForCreate?.(object, context);
    strategy.validate?.(object, context);
    for (const read of Object.values(strategy.selectableFields ?? {}))
      expect(read(object)).toBeTypeOf("string");
  });
});

test("every definition has its own resource and kind", () => {
  const paths = builtInKinds.map(({ resource }) => `${apiVersionOf(resource)}/${resource.plural}`);
  expect(new Set(paths).size).toBe(builtInKinds.length);
  const kinds = builtInKinds.map(({ resource }) => `${apiVersionOf(resource)}/${resource.kind}`);
  expect(new Set(kinds).size).toBe(builtInKinds.length);
});
