import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../api/objects.ts";
import { resources } from "../../api/resources.ts";
import { buildTable } from "./build-table.ts";
import { tableFor } from "./table-for.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
const createdAt = "2026-01-01T00:00:00Z";

/** `Name,Ready | IP`: what `-o wide` adds stands behind the bar. */
function header(kind: string): string {
  const resource = resources.find((resource) => resource.kind === kind);
  const columns = tableFor(resource ?? { group: "autoscaling", kind }).columns.map(
    ({ definition }) => definition,
  );
  const names = (priority: number) =>
    columns
      .filter((column) => column.priority === priority)
      .map(({ name }) => name)
      .join(",");
  return names(1) ? `${names(0)} | ${names(1)}` : names(0);
}

test.each([
  ["ClusterRole", "Name,Created At"],
  ["ClusterRoleBinding", "Name,Role,Age | Users,Groups,ServiceAccounts"],
  ["ConfigMap", "Name,Data,Age"],
  ["ControllerRevision", "Name,Controller,Revision,Age"],
  ["Deployment", "Name,Ready,Up-to-date,Available,Age | Containers,Images,Selector"],
  ["EndpointSlice", "Name,AddressType,Ports,Endpoints,Age"],
  ["Endpoints", "Name,Endpoints,Age"],
  ["Event", "Last Seen,Type,Reason,Object,Message | Subobject,Source,First Seen,Count,Name"],
  ["Lease", "Name,Holder,Age"],
  ["Namespace", "Name,Status,Age"],
  [
    "Node",
    "Name,Status,Roles,Age,Version | Internal-IP,External-IP,OS-Image,Kernel-Version,Container-Runtime",
  ],
  [
    "PersistentVolume",
    "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age | VolumeMode",
  ],
  [
    "PersistentVolumeClaim",
    "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age | VolumeMode",
  ],
  ["Pod", "Name,Ready,Status,Restarts,Age | IP,Node,Nominated Node,Readiness Gates"],
  ["PodDisruptionBudget", "Name,Min Available,Max Unavailable,Allowed Disruptions,Age"],
  ["PriorityClass", "Name,Value,Global-Default,Age,PreemptionPolicy"],
  ["ReplicaSet", "Name,Desired,Current,Ready,Age | Containers,Images,Selector"],
  ["Role", "Name,Created At"],
  ["RoleBinding", "Name,Role,Age | Users,Groups,ServiceAccounts"],
  ["RuntimeClass", "Name,Handler,Age"],
  ["Scale", "Name,Desired,Available,Age"],
  ["Secret", "Name,Type,Data,Age"],
  ["Service", "Name,Type,Cluster-IP,External-IP,Port(s),Age | Selector"],
  ["ServiceAccount", "Name,Age"],
  ["StatefulSet", "Name,Ready,Age | Containers,Images"],
  ["StorageClass", "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"],
])("%s has upstream's columns", (kind, expected) => {
  expect(header(kind)).toBe(expected);
});

function cellsOf(kind: string, fields: object, metadata: KubeObject["metadata"] = {}): unknown[] {
  const resource = resources.find((resource) => resource.kind === kind) ?? { group: "autoscaling", kind };
  const object = {
    kind,
    apiVersion: "v1",
    metadata: { name: "x", creationTimestamp: createdAt, ...metadata },
    ...fields,
  };
  return [...(buildTable(tableFor(resource), [object], { now }).rows[0]?.cells ?? [])];
}

const template = {
  spec: {
    containers: [
      { name: "a", image: "i:1" },
      { name: "b", image: "j:2" },
    ],
  },
};
const selector = { matchLabels: { app: "web" } };

describe("cells", () => {
  test.each<[string, object, unknown[], KubeObject["metadata"]?]>([
    ["Namespace", { status: { phase: "Active" } }, ["x", "Active", "60m"]],
    ["ConfigMap", { data: { a: "" }, binaryData: { b: "" } }, ["x", 2, "60m"]],
    ["Secret", { type: "Opaque", data: { a: "" } }, ["x", "Opaque", 1, "60m"]],
    ["Lease", { spec: { holderIdentity: "me" } }, ["x", "me", "60m"]],
    ["RuntimeClass", { handler: "runc" }, ["x", "runc", "60m"]],
    ["PriorityClass", { value: 10, preemptionPolicy: "Never" }, ["x", 10, false, "60m", "Never"]],
    ["Role", {}, ["x", createdAt]],
    [
      "RoleBinding",
      {
        roleRef: { kind: "ClusterRole", name: "view" },
        subjects: [
          { kind: "User", name: "ann" },
          { kind: "User", name: "bob" },
          { kind: "Group", name: "dev" },
          { kind: "ServiceAccount", namespace: "ns", name: "sa" },
        ],
      },
      ["x", "ClusterRole/view", "60m", "ann, bob", "dev", "ns/sa"],
    ],
    [
      "Deployment",
      {
        spec: { replicas: 3, template, selector },
        status: { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 },
      },
      ["x", "1/3", 2, 1, "60m", "a,b", "i:1,j:2", "app=web"],
    ],
    [
      "ReplicaSet",
      { spec: { replicas: 3, template, selector: {} }, status: { replicas: 2, readyReplicas: 1 } },
      ["x", 3, 2, 1, "60m", "a,b", "i:1,j:2", "<none>"],
    ],
    ["StatefulSet", { spec: { replicas: 2, template }, status: {} }, ["x", "0/2", "60m", "a,b", "i:1,j:2"]],
    ["Scale", { spec: { replicas: 2 }, status: { replicas: 1 } }, ["x", 2, 1, "60m"]],
    ["ControllerRevision", { revision: 4 }, ["x", "<none>", 4, "60m"]],
    [
      "ControllerRevision",
      { revision: 4 },
      ["x", "statefulset.apps/Web", 4, "60m"],
      {
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "StatefulSet", name: "Web", uid: "", controller: true },
        ],
      },
    ],
    [
      "PodDisruptionBudget",
      { spec: { minAvailable: "50%" }, status: { disruptionsAllowed: 1 } },
      ["x", "50%", "N/A", 1, "60m"],
    ],
    ["PodDisruptionBudget", { spec: { maxUnavailable: 0 } }, ["x", "N/A", "0", 0, "60m"]],
  ])("%s %j", (kind, fields, expected, metadata) => {
    expect(cellsOf(kind, fields, metadata)).toEqual(expected);
  });
});

describe("pods", () => {
  test("the wide columns", () => {
    const status = {
      phase: "Running",
      podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
      nominatedNodeName: "n2",
      conditions: [{ type: "g1", status: "True" }],
      containerStatuses: [
        {
          name: "a",
          ready: true,
          restartCount: 2,
          state: { running: {} },
          lastState: { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:55:00Z" } },
        },
      ],
    };
    const spec = {
      nodeName: "n1",
      containers: [{ name: "a" }],
      readinessGates: [{ conditionType: "g1" }, { conditionType: "g2" }],
    };
    expect(cellsOf("Pod", { spec, status })).toEqual([
      "x",
      "1/1",
      "Running",
      "2 (5m ago)",
      "60m",
      "10.0.0.1",
      "n1",
      "n2",
      "1/2",
    ]);
  });

  test("a new pod has none of it", () => {
    expect(cellsOf("Pod", { spec: { containers: [{ name: "a" }] }, status: { phase: "Pending" } })).toEqual([
      "x",
      "0/1",
      "Pending",
      "0",
      "60m",
      "<none>",
      "<none>",
      "<none>",
      "<none>",
    ]);
  });
});

describe("nodes", () => {
  const nodeInfo = {
    kubeletVersion: "v1.36.0",
    osImage: "Debian 12",
    kernelVersion: "6.18",
    architecture: "amd64",
    containerRuntimeVersion: "kindling://0.1",
  };

  test.each([
    [[{ type: "Ready", status: "True" }], false, "Ready"],
    [[{ type: "Ready", status: "Unknown" }], true, "NotReady,SchedulingDisabled"],
    [[{ type: "DiskPressure", status: "True" }], false, "Unknown"],
  ])("conditions %j, cordoned %j: %s", (conditions, unschedulable, expected) => {
    expect(cellsOf("Node", { spec: { unschedulable }, status: { conditions } })[1]).toBe(expected);
  });

  test("roles, versions and addresses", () => {
    const addresses = [
      { type: "Hostname", address: "h" },
      { type: "InternalIP", address: "10.0.0.1" },
      { type: "InternalIP", address: "fd00::1" },
    ];
    const labels = {
      "node-role.kubernetes.io/worker": "",
      "kubernetes.io/role": "edge",
      "node-role.kubernetes.io/": "",
    };
    expect(cellsOf("Node", { status: { nodeInfo, addresses } }, { labels })).toEqual([
      "x",
      "Unknown",
      "edge,worker",
      "60m",
      "v1.36.0",
      "10.0.0.1",
      "<none>",
      "Debian 12",
      "6.18 (amd64)",
      "kindling://0.1",
    ]);
  });
});

describe("events", () => {
  const involvedObject = { kind: "Pod", name: "web", fieldPath: "spec.containers{a}" };
  const old = "2026-01-01T00:30:00Z";
  const recent = "2026-01-01T00:59:30Z";

  test.each([
    [
      "core, repeated",
      {
        involvedObject,
        type: "Normal",
        reason: "Pulled",
        message: " done\n",
        firstTimestamp: old,
        lastTimestamp: recent,
        count: 3,
        source: { component: "kubelet", host: "n1" },
      },
      ["30s", "Normal", "Pulled", "pod/web", "spec.containers{a}", "kubelet, n1", "done", "30m", 3, "x"],
    ],
    [
      "with the newer fields in the core API",
      {
        involvedObject: { kind: "Node" },
        eventTime: old,
        firstTimestamp: null,
        lastTimestamp: null,
        reportingComponent: "scheduler",
        reportingInstance: "",
        source: {},
      },
      ["30m", "", "", "node", "", "scheduler", "", "30m", 1, "x"],
    ],
    [
      "a series",
      { involvedObject, eventTime: old, series: { count: 5, lastObservedTime: recent } },
      ["30s", "", "", "pod/web", "spec.containers{a}", "", "", "30m", 5, "x"],
    ],
    [
      "of events.k8s.io",
      {
        regarding: involvedObject,
        note: "hello",
        eventTime: old,
        reportingController: "c",
        reportingInstance: "i",
      },
      ["30m", "", "", "pod/web", "spec.containers{a}", "c, i", "hello", "30m", 1, "x"],
    ],
  ])("%s", (_, fields, expected) => {
    expect(cellsOf("Event", fields)).toEqual(expected);
  });
});

describe("services and what is behind them", () => {
  const ports = [
    { port: 80, protocol: "TCP" },
    { port: 53, nodePort: 30053, protocol: "UDP" },
  ];

  test.each([
    [{ type: "ClusterIP", clusterIPs: ["None"] }, {}, ["ClusterIP", "None", "<none>", "<none>"]],
    [
      { type: "NodePort", clusterIPs: ["10.0.0.1"], ports, externalIPs: ["1.1.1.1", "2.2.2.2"] },
      {},
      ["NodePort", "10.0.0.1", "1.1.1.1,2.2.2.2", "80/TCP,53:30053/UDP"],
    ],
    [
      { type: "LoadBalancer", clusterIPs: ["10.0.0.1"] },
      {},
      ["LoadBalancer", "10.0.0.1", "<pending>", "<none>"],
    ],
    [
      { type: "LoadBalancer", clusterIPs: ["10.0.0.1"], externalIPs: ["9.9.9.9"] },
      { loadBalancer: { ingress: [{ hostname: "lb.example" }, { ip: "3.3.3.3" }, { ip: "3.3.3.3" }] } },
      ["LoadBalancer", "10.0.0.1", "3.3.3.3,lb.example,9.9.9.9", "<none>"],
    ],
    [
      { type: "ExternalName", externalName: "example.org" },
      {},
      ["ExternalName", "<none>", "example.org", "<none>"],
    ],
  ])("service %j %j", (spec, status, expected) => {
    expect(cellsOf("Service", { spec, status })).toEqual(["x", ...expected, "60m", "<none>"]);
  });

  const addresses = [{ ip: "10.0.0.1" }, { ip: "fd00::2" }];

  test.each([
    [undefined, "<none>"],
    [[], "<none>"],
    [[{ notReadyAddresses: addresses }], ""],
    [[{ addresses }], "10.0.0.1,fd00::2"],
    [
      [{ addresses, ports: [{ port: 80 }, { port: 443 }] }],
      "10.0.0.1:80,[fd00::2]:80,10.0.0.1:443 + 1 more...",
    ],
  ])("endpoints %j", (subsets, expected) => {
    expect(cellsOf("Endpoints", { subsets })).toEqual(["x", expected, "60m"]);
  });

  test.each([
    [{}, "<unset>", "<unset>"],
    [
      { ports: [{ port: 80 }, { name: "dns" }, {}, { port: 1 }], endpoints: [{ addresses: ["a", "b"] }] },
      "80,dns,* + 1 more...",
      "a,b",
    ],
  ])("endpoint slice %j", (fields, ports, endpoints) => {
    expect(cellsOf("EndpointSlice", { addressType: "IPv4", ...fields })).toEqual([
      "x",
      "IPv4",
      ports,
      endpoints,
      "60m",
    ]);
  });
});

describe("storage", () => {
  test("a bound volume", () => {
    const spec = {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany"],
      persistentVolumeReclaimPolicy: "Retain",
      claimRef: { namespace: "ns", name: "c" },
      storageClassName: "fast",
      volumeMode: "Block",
    };
    expect(cellsOf("PersistentVolume", { spec, status: { phase: "Bound" } })).toEqual([
      "x",
      "1Gi",
      "RWO,ROX,RWX,RWOP",
      "Retain",
      "Bound",
      "ns/c",
      "fast",
      "<unset>",
      "",
      "60m",
      "Block",
    ]);
  });

  test("claims: pending, bound, going", () => {
    const requested = {
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "fast",
      accessModes: ["ReadWriteOnce"],
    };
    expect(cellsOf("PersistentVolumeClaim", { spec: requested, status: { phase: "Pending" } })).toEqual([
      "x",
      "Pending",
      "",
      "",
      "",
      "fast",
      "<unset>",
      "60m",
      "<unset>",
    ]);
    const status = { phase: "Bound", capacity: { storage: "2Gi" }, accessModes: ["ReadWriteOnce"] };
    const metadata = {
      deletionTimestamp: createdAt,
      annotations: { "volume.beta.kubernetes.io/storage-class": "slow" },
    };
    expect(
      cellsOf("PersistentVolumeClaim", { spec: { ...requested, volumeName: "v" }, status }, metadata),
    ).toEqual(["x", "Terminating", "v", "2Gi", "RWO", "slow", "<unset>", "60m", "<unset>"]);
  });

  test("the default storage class is marked", () => {
    const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
    expect(cellsOf("StorageClass", { provisioner: "p" }, { annotations })).toEqual([
      "x (default)",
      "p",
      "Delete",
      "Immediate",
      false,
      "60m",
    ]);
    expect(cellsOf("StorageClass", { provisioner: "p", allowVolumeExpansion: true })[0]).toBe("x");
  });
});
