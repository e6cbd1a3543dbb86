import {
  apps,
  container,
  core,
  get,
  namespace,
  patch,
  type Request,
  selector,
  send,
  table,
  template,
} from "./request.ts";

const map = `${core}/configmaps/a`;
const deployment = `${apps}/deployments/d`;

/** Bodies that are no objects, and options that are none: nothing is written. */
export const malformed: readonly Request[] = [
  ...[
    "",
    "{",
    "[]",
    "null",
    '{"kind":"ConfigMap","apiVersion":"v1"}',
    '{"kind":"Pod","apiVersion":"v2"}',
  ].map((body) => send("POST", `${core}/pods`, body)),
  ...["Strict", "Warn", "Bogus"].map((level) =>
    send("POST", `${core}/pods?dryRun=All&fieldValidation=${level}`, {
      metadata: { name: "p" },
      spec: { foo: 1 },
    }),
  ),
  send("POST", `${core}/pods?dryRun=Some`, {}),
  send("POST", `/api/v1/namespaces/nope/pods`, {
    metadata: { name: "p" },
    spec: { containers: [container] },
  }),
  send("POST", "/api/v1/pods", {}),
  send("PUT", `${core}/configmaps`, {}),
  send("DELETE", "/api/v1/namespaces"),
  send("OPTIONS", map),
  ...[
    "/foo",
    "/apis/foo.com/v1/foos",
    "/apis/apps/v9/deployments",
    "/apis/apps/v9",
    `${core}/foos`,
    `${map}/status`,
  ].map((path) => get(path)),
  ...[
    "limit=x",
    "continue=abc",
    "resourceVersion=x",
    "resourceVersionMatch=Exact",
    "sendInitialEvents=true",
  ].map((query) => get(`${core}/configmaps?${query}`)),
  ...["watch=1&resourceVersionMatch=Exact", "watch=1&sendInitialEvents=true", "watch=1&continue=a"].map(
    (query) => get(`${core}/configmaps?${query}`),
  ),
  ...["a=b=c", "n in", "-n", "a b", "n>x"].map((text) =>
    get(`${core}/pods?labelSelector=${encodeURIComponent(text)}`),
  ),
  ...["pods", "configmaps", "services", "secrets"].map((plural) =>
    get(`${core}/${plural}?fieldSelector=foo%3Dbar`),
  ),
  get(`/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dx&limit=1`),
];

const networking = "/apis/networking.k8s.io/v1";
const ingresses = `${networking}/namespaces/${namespace}/ingresses`;
const policies = `${networking}/namespaces/${namespace}/networkpolicies`;
const backend = { service: { name: "a", port: { number: 80 } } };

const networkingChanges: readonly Request[] = [
  send("POST", `${networking}/ingressclasses`, {
    metadata: { name: "c", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
    spec: { controller: "a.example/c", parameters: { apiGroup: "a.example", kind: "A", name: "a" } },
  }),
  patch("merge", `${networking}/ingressclasses/c`, { spec: { controller: "a.example/d" } }),
  get(`${networking}/ingressclasses/c`, table),
  send("POST", ingresses, {
    metadata: { name: "i" },
    spec: {
      defaultBackend: backend,
      tls: [{ hosts: ["a.example"] }],
      rules: ["", "a.a", "", "b.b", "c.c", "d.d"].map((host) => ({ host })),
    },
  }),
  patch("merge", `${ingresses}/i`, { spec: { defaultBackend: null }, status: { loadBalancer: null } }),
  patch("merge", `${ingresses}/i/status`, {
    spec: { rules: null },
    status: { loadBalancer: { ingress: [{ ip: "2001:DB8::1" }, { hostname: "b.example" }] } },
  }),
  patch("merge", `${ingresses}/i/status`, {
    status: { loadBalancer: { ingress: [{ ip: "1.2.3" }, { hostname: "1.2.3.4" }, { hostname: "A_" }] } },
  }),
  get(`${ingresses}/i`, table),
  get(`${ingresses}/i/status`),
  send("DELETE", `${ingresses}/i`),
  send("POST", policies, { metadata: { name: "p" }, spec: { podSelector: { matchLabels: { a: "b" } } } }),
  patch("strategic-merge", `${policies}/p`, {
    spec: { egress: [{ ports: [{ port: 53, protocol: "UDP" }] }] },
  }),
  patch("json", `${policies}/p`, [{ op: "remove", path: "/spec/podSelector" }]),
  get(`${policies}/p`, table),
  send("PUT", `${policies}/p/status`, {}),
  send("DELETE", `${policies}/p`),
  send("DELETE", `${networking}/ingressclasses/c`),
];

/** One after the other, each on what the one before has left. */
export const changes: readonly Request[] = [
  send("POST", `${core}/configmaps`, { metadata: { name: "a" }, data: { k: "v" } }),
  send("POST", `${core}/configmaps`, { metadata: { name: "a" } }),
  send("PUT", map, { metadata: { name: "b" } }),
  send("PUT", map, { metadata: {} }),
  send("PUT", map, { metadata: { name: "a", namespace: "other" } }),
  send("PUT", map, { metadata: { name: "a", resourceVersion: "1" } }),
  send("PUT", map, { metadata: { name: "a" }, data: { k: "w" } }),
  ...["authorization.k8s.io/v1/selfsubjectaccessreviews", "authentication.k8s.io/v1/selfsubjectreviews"].map(
    (review) => ({
      ...send("POST", `/apis/${review}`, { spec: { nonResourceAttributes: { path: "/", verb: "get" } } }),
      headers: { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" },
    }),
  ),
  ...[{}, { resourceVersion: "1" }].map((metadata) =>
    send("PUT", `${core}/endpoints/e?dryRun=All`, { metadata: { name: "e", ...metadata } }),
  ),
  patch("json", map, [
    { op: "add", path: "/data/z", value: "1" },
    { op: "test", path: "/data/k", value: "w" },
  ]),
  patch("json", map, [{ op: "test", path: "/data/k", value: "no" }]),
  patch("json", map, [{ op: "remove", path: "/data/no" }]),
  patch("json", map, { op: "add" }),
  patch("merge", map, { data: { z: null, n: "1" } }),
  patch("merge", map, { data: { z: 1 } }),
  patch("merge", map, { metadata: { uid: "x", deletionTimestamp: "2020-01-01T00:00:00Z" } }),
  patch("merge", `${map}?force=true`, {}),
  patch("merge", map, { immutable: true }),
  patch("merge", map, { data: { k: "x" }, immutable: false }),
  send("POST", `${apps}/deployments`, { metadata: { name: "d" }, spec: { selector, template } }),
  patch("strategic-merge", deployment, {
    spec: { template: { spec: { containers: [{ name: "s", image: "s" }] } } },
  }),
  patch("strategic-merge", deployment, {
    spec: {
      template: {
        spec: {
          "$setElementOrder/containers": [{ name: "s" }, { name: "c" }],
          containers: [{ name: "s", image: "t" }],
        },
      },
    },
  }),
  patch("strategic-merge", deployment, {
    spec: { template: { spec: { containers: [{ name: "s", $patch: "delete" }] } } },
  }),
  patch("strategic-merge", deployment, { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } }),
  patch("strategic-merge", deployment, { spec: { selector: { matchLabels: { a: "c" } } } }),
  patch("strategic-merge", deployment, { metadata: { labels: { $patch: "zap" } } }),
  patch("strategic-merge", deployment, []),
  get(`${deployment}/scale`),
  patch("merge", `${deployment}/scale`, { spec: { replicas: 3 } }),
  patch("merge", `${deployment}/scale`, { spec: { replicas: -3 } }),
  send("PUT", `${deployment}/scale`, { spec: { replicas: 3 } }),
  patch("merge", `${deployment}/status`, {
    spec: { replicas: 9 },
    status: { replicas: 1, readyReplicas: 2 },
  }),
  send("DELETE", `${deployment}/status`),
  send("DELETE", deployment, { propagationPolicy: "X" }),
  send("DELETE", deployment, { preconditions: { resourceVersion: "1" } }),
  send("DELETE", deployment, { propagationPolicy: "Foreground" }),
  patch("merge", deployment, { metadata: { finalizers: ["a/b"] } }),
  patch("merge", deployment, { metadata: { finalizers: null } }),
  get(deployment),
  send("POST", `${core}/pods`, { metadata: { name: "p" }, spec: { nodeName: "n", containers: [container] } }),
  patch("strategic-merge", `${core}/pods/p`, { spec: { containers: [{ name: "c", image: "n:2" }] } }),
  patch("strategic-merge", `${core}/pods/p`, { spec: { nodeName: "m" } }),
  patch("strategic-merge", `${core}/pods/p`, { spec: { activeDeadlineSeconds: 5 } }),
  patch("strategic-merge", `${core}/pods/p/status`, { status: { phase: "Running", podIP: "x" } }),
  get(`${core}/pods/p`, table),
  get(`${core}/pods/p`, { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" }),
  send("POST", `${core}/pods/p/binding`, { metadata: { name: "p" }, target: { name: "m" } }),
  send("POST", `${core}/bindings`, { metadata: { name: "nope" }, target: { name: "m" } }),
  send("POST", `${core}/pods/p/eviction`, { metadata: { name: "q" } }),
  send("POST", `${core}/pods/p/eviction`, { metadata: { name: "p" } }),
  get(`${core}/pods/p`),
  send("POST", `${core}/serviceaccounts/default/token`, { spec: { expirationSeconds: 5 } }),
  send("PUT", `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/l`, {
    metadata: { name: "l" },
    spec: {},
  }),
  send("PUT", `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/l`, {
    metadata: { name: "l" },
    spec: {},
  }),
  send("POST", "/api/v1/namespaces", { metadata: { name: "gone" } }),
  send("DELETE", "/api/v1/namespaces/gone"),
  send("POST", "/api/v1/namespaces/gone/configmaps", { metadata: { name: "a" } }),
  send("PUT", "/api/v1/namespaces/gone/finalize", { metadata: { name: "gone" }, spec: {} }),
  send("DELETE", "/api/v1/namespaces/kube-system"),
  ...networkingChanges,
];
