import { apps, container, core, dry, namespace, type Request, rbac, selector, template } from "./request.ts";

const pod = (spec: object, metadata: object = {}): Request =>
  dry(`${core}/pods`, { metadata: { name: "p", ...metadata }, spec: { containers: [container], ...spec } });
const inPod = (more: object): Request => pod({ containers: [{ ...container, ...more }] });

/** What pods are given, and what they are refused for. */
export const pods: readonly Request[] = [
  pod({}),
  pod({}, { name: "A_" }),
  pod({}, { labels: { "a b": "-" }, annotations: { "a b": "" }, finalizers: ["keep", "a/b/c"] }),
  pod({}, { ownerReferences: [{ apiVersion: "", kind: "", name: "", uid: "" }] }),
  pod({ containers: [] }),
  pod({ containers: [{ image: "a" }, { image: " b " }, { name: "C" }] }),
  pod({ restartPolicy: "X", dnsPolicy: "X", preemptionPolicy: "X", terminationGracePeriodSeconds: -1 }),
  pod({ schedulingGates: [{ name: "a" }] }),
  pod({ hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80 }] }] }),
  pod({ imagePullSecrets: [{ name: "" }, { name: "a" }, { name: "a" }] }),
  pod({ nodeSelector: { "a b": "-" }, nodeName: "A_", hostname: "A_", serviceAccountName: "A_" }),
  pod({ serviceAccountName: "nobody" }),
  pod({ priorityClassName: "nope" }),
  pod({ priorityClassName: "system-node-critical" }),
  pod({ runtimeClassName: "nope" }),
  pod({ overhead: { cpu: "1" } }),
  pod({
    tolerations: [{ key: "a", operator: "X" }, { effect: "X" }, { key: "a", operator: "Gt", value: "1" }],
  }),
  pod({
    topologySpreadConstraints: [{ maxSkew: 0 }, { maxSkew: 1, topologyKey: "z", whenUnsatisfiable: "X" }],
  }),
  pod({
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "x" }] } },
  }),
  pod({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
  }),
  pod({ initContainers: [{ ...container, livenessProbe: { exec: { command: ["a"] } } }] }),
  pod({ initContainers: [{ ...container, name: "i", restartPolicy: "Always" }] }),
  pod({ resources: { limits: { cpu: "1", memory: "1Gi" } } }),
  pod({ resources: { requests: { foo: "1", "example.com/x": "1" }, claims: [{ name: "x" }] } }),
  pod({ securityContext: { runAsUser: -1, seccompProfile: { type: "X" }, fsGroupChangePolicy: "X" } }),
  pod({
    os: { name: "windows" },
    hostPID: true,
    securityContext: { fsGroup: 2, seLinuxOptions: { user: "u" } },
  }),
  pod({
    volumes: [
      { name: "a" },
      { name: "a", emptyDir: {}, hostPath: { path: "/x" } },
      { name: "b", secret: {} },
    ],
  }),
  pod({
    volumes: [
      { name: "a", projected: { sources: [{ serviceAccountToken: { path: "t" } }, { secret: {} }] } },
    ],
  }),
  pod({ volumes: [{ name: "a", rbd: { monitors: ["m"], image: "i" } }] }),
  inPod({ env: [{ name: "A" }, { name: "A" }, { name: "1=2" }, { name: "B", valueFrom: {} }] }),
  inPod({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.x" } } }], envFrom: [{}] }),
  inPod({ ports: [{ containerPort: 0 }, { containerPort: 80, protocol: "X", name: "A" }] }),
  inPod({ resources: { limits: { cpu: "-1", foo: "1", "hugepages-2Mi": "1" }, requests: { cpu: "2" } } }),
  inPod({ resources: { limits: { memory: "100m" }, claims: [{ name: "x" }] } }),
  inPod({
    startupProbe: {},
    livenessProbe: { exec: { command: ["a"] }, successThreshold: 2, periodSeconds: -1 },
  }),
  inPod({ readinessProbe: { httpGet: { port: "", scheme: "FTP" }, terminationGracePeriodSeconds: 1 } }),
  inPod({ startupProbe: { tcpSocket: { port: 80 } } }),
  inPod({ lifecycle: { stopSignal: "SIGX", preStop: { sleep: { seconds: -1 } } } }),
  inPod({
    volumeMounts: [
      { name: "zz", mountPath: "" },
      { name: "a", mountPath: "/a", subPath: "../x" },
    ],
  }),
  inPod({ terminationMessagePolicy: "X", imagePullPolicy: "X", restartPolicy: "X" }),
];

const kinds: Readonly<Record<string, readonly object[]>> = {
  [`${core}/configmaps`]: [
    { data: { "a b": "" } },
    { data: { a: "x".repeat(1_048_577) } },
    { binaryData: { a: "!" } },
  ],
  [`${core}/secrets`]: [
    { type: "kubernetes.io/tls" },
    { type: "kubernetes.io/dockercfg", data: { ".dockercfg": "eA==" } },
  ],
  [`${core}/services`]: [
    { spec: { ports: [{ port: 80 }] } },
    {
      spec: { type: "X", sessionAffinity: "X", trafficDistribution: "X", ports: [{ port: 0 }, { port: 0 }] },
    },
    { spec: { clusterIP: "None", externalIPs: ["1.2.3.4"] } },
    { spec: { type: "ExternalName" } },
    { spec: { clusterIP: "x", ipFamilies: ["IPv6"], ports: [{ port: 80, targetPort: "A_" }] } },
    { spec: { trafficDistribution: "PreferClose", ports: [{ port: 80 }] } },
  ],
  [`${core}/endpoints`]: [{ subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ port: 80 }] }] }, {}],
  [`${core}/persistentvolumeclaims`]: [
    {},
    { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "100m" } } } },
  ],
  "/api/v1/persistentvolumes": [
    {},
    { spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, local: { path: "/x" } } },
  ],
  "/api/v1/namespaces": [{}, { metadata: { name: "a.b" } }, { spec: { finalizers: ["x"] } }],
  "/api/v1/nodes": [{ spec: { taints: [{ key: "a b", effect: "X" }], podCIDR: "x" } }],
  [`${apps}/deployments`]: [
    {},
    { spec: { selector, template } },
    {
      metadata: { name: "a.b" },
      spec: { selector, template, strategy: { rollingUpdate: { maxSurge: "x" } } },
    },
    { spec: { replicas: -1, selector: { matchLabels: { a: "c" } }, template, progressDeadlineSeconds: 0 } },
    {
      spec: {
        selector: { matchExpressions: [{ key: "x", operator: "In" }] },
        template,
        strategy: { type: "X" },
      },
    },
  ],
  [`${apps}/replicasets`]: [{}, { spec: { selector, template } }],
  [`${apps}/statefulsets`]: [
    {},
    { spec: { selector, template } },
    {
      spec: {
        selector,
        template,
        podManagementPolicy: "X",
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "X" },
      },
    },
  ],
  [`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`]: [
    { spec: { minAvailable: "x", maxUnavailable: 1 } },
  ],
  [`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`]: [
    { spec: { leaseDurationSeconds: 0, strategy: "X" } },
  ],
  [`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`]: [
    {},
    { addressType: "IPv4", endpoints: [{ addresses: ["::1"] }] },
  ],
  [`/apis/events.k8s.io/v1/namespaces/${namespace}/events`]: [
    {
      ...{
        eventTime: "2020-01-01T00:00:00.000000Z",
        reportingController: "a/b",
        reportingInstance: "i",
        action: "A",
      },
      ...{ reason: "R", regarding: { namespace }, type: "Normal", note: "n" },
    },
  ],
  "/apis/storage.k8s.io/v1/storageclasses": [{}, { provisioner: "A b", reclaimPolicy: "X" }],
  "/apis/scheduling.k8s.io/v1/priorityclasses": [
    {},
    { value: 2e9, preemptionPolicy: "X" },
    { metadata: { name: "system-x" } },
  ],
  "/apis/node.k8s.io/v1/runtimeclasses": [{}, { handler: "runc" }],
  [`${rbac}/clusterroles`]: [{ rules: [{}] }, { aggregationRule: {} }],
  [`${rbac}/namespaces/${namespace}/rolebindings`]: [
    {},
    { roleRef: { kind: "X", name: "a/b" }, subjects: [{ kind: "X" }] },
  ],
};

const networking = "/apis/networking.k8s.io/v1";
const http = (paths: readonly object[]) => ({ spec: { rules: [{ host: "a.example", http: { paths } }] } });
const service = { service: { name: "a", port: { number: 80 } } };
const peers = (...from: readonly object[]) => ({ spec: { podSelector: {}, ingress: [{ from }] } });
const ports = (...list: readonly object[]) => ({ spec: { podSelector: {}, egress: [{ ports: list }] } });

const networkingKinds: typeof kinds = {
  [`${networking}/namespaces/${namespace}/networkpolicies`]: [
    {},
    { spec: {} },
    { spec: { podSelector: { matchLabels: { "a b": "-" } }, policyTypes: ["Ingress", "X"] } },
    { spec: { podSelector: {}, policyTypes: ["Ingress", "Egress", "Ingress"] } },
    { spec: { podSelector: {}, ingress: [{}], egress: [{ to: [], ports: [] }] } },
    peers({}, { podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }, { ipBlock: {} }),
    peers({ ipBlock: { cidr: "10.0.0.1/8" } }, { ipBlock: { cidr: "x", except: ["y"] } }),
    peers({ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16", "10.0.0.0/8", "::/0", "11.0.0.0/16"] } }),
    peers({ ipBlock: { cidr: "2001:DB8::/32", except: ["2001:db8:0:0:1::/80"] } }),
    peers({ ipBlock: { cidr: "010.0.0.0/8" } }, { ipBlock: { cidr: "::ffff:10.0.0.0/104" } }),
    peers({ namespaceSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }),
    ports({}, { port: 80, endPort: 90 }, { port: "http", protocol: "SCTP" }, { port: 0 }),
    ports(
      { port: 80, endPort: 70 },
      { port: 80, endPort: 70_000 },
      { endPort: 1 },
      { port: "a", endPort: 1 },
    ),
    ports({ port: "A_", protocol: "X" }, { port: "" }),
  ],
  [`${networking}/namespaces/${namespace}/ingresses`]: [
    {},
    { spec: { defaultBackend: service }, status: { loadBalancer: { ingress: [{ ip: "x" }] } } },
    { spec: { defaultBackend: { ...service, resource: { kind: "A", name: "a" } } } },
    { spec: { defaultBackend: { resource: { apiGroup: "A_", kind: "a/b", name: "" } } } },
    { spec: { defaultBackend: { resource: { apiGroup: "", kind: "", name: "a%b" } } } },
    { spec: { defaultBackend: { service: { name: "A_", port: { number: 1, name: "a" } } } } },
    { spec: { defaultBackend: { service: { name: "", port: {} } } } },
    { spec: { defaultBackend: { service: { name: "1a", port: { name: "A_" } } } } },
    { spec: { defaultBackend: { service: { name: "a", port: { number: 70_000 } } } } },
    { spec: { defaultBackend: {}, ingressClassName: "A_" } },
    { spec: { rules: [{ host: "1.2.3.4" }, { host: "*.a" }, { host: "a.*.b" }, { host: "A_" }, {}] } },
    { spec: { rules: [{ http: { paths: [] } }, { http: {} }, { host: "*.a.b", http: { paths: [{}] } }] } },
    { spec: { defaultBackend: service, tls: [{ hosts: ["*", "A"], secretName: "A_" }, {}] } },
    http([{ path: "/", pathType: "Prefix", backend: service }]),
    http([{ path: "a", backend: service }]),
    http([
      { path: "a", pathType: "X", backend: service },
      { pathType: "", backend: service },
    ]),
    http([{ path: "a//b/./c/../d%2fe%2F/..", pathType: "Exact", backend: {} }]),
    http([{ pathType: "ImplementationSpecific", backend: service }, { pathType: "Exact" }]),
    http([{ path: "a//b", pathType: "ImplementationSpecific", backend: service }]),
    {
      metadata: { name: "x", annotations: { "kubernetes.io/ingress.class": "a" } },
      spec: { defaultBackend: service, ingressClassName: "b" },
    },
    {
      metadata: { name: "x", annotations: { "kubernetes.io/ingress.class": "a" } },
      spec: { defaultBackend: service },
    },
  ],
  [`${networking}/ingressclasses`]: [
    {},
    { spec: { controller: "example.com/a" } },
    { spec: { controller: "example.com" } },
    { spec: { controller: "A_/a b" } },
    { spec: { controller: `a.b/${"c".repeat(250)}` } },
    { spec: { controller: "a.b/c", parameters: {} } },
    { spec: { controller: "a.b/c", parameters: { apiGroup: "A_", kind: "a/b", name: "a%b" } } },
    { spec: { controller: "a.b/c", parameters: { kind: "A", name: "a", scope: "X" } } },
    { spec: { controller: "a.b/c", parameters: { kind: "A", name: "a", scope: "Namespace" } } },
    { spec: { controller: "a.b/c", parameters: { kind: "A", name: "a", namespace: "a" } } },
    {
      spec: { controller: "a.b/c", parameters: { kind: "A", name: "a", scope: "Namespace", namespace: "A" } },
    },
  ],
};

/** Every kind: what it is given, and what it is refused for. */
export const objects: readonly Request[] = Object.entries({ ...kinds, ...networkingKinds }).flatMap(
  ([path, list]) => list.map((object) => dry(path, object)),
);
