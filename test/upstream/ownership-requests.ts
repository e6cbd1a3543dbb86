import fc from "fast-check";
import { apps, core, namespace } from "./request.ts";

export interface OwnershipRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** A request for an object of a kind, still without the object's name. */
type Operation = (name: string) => OwnershipRequest;

const manager = fc.constantFrom("alice", "bob", "carol", "kubectl");
const word = fc.constantFrom("a", "b", "c");
const map = fc.dictionary(word, word, { maxKeys: 3 });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** Metadata that clients set. */
const metadata = fc.record(
  { labels: map, annotations: map, finalizers: fc.constantFrom(["x.io/a"], ["x.io/a", "x.io/b"]) },
  { requiredKeys: [] },
);

const container = fc.record(
  {
    name: word,
    image: word,
    command: fc.array(word, { maxLength: 2 }),
    env: fc.uniqueArray(fc.record({ name: word, value: word }), {
      selector: ({ name }) => name,
      maxLength: 3,
    }),
    ports: fc.uniqueArray(
      fc.record({ containerPort: fc.constantFrom(80, 443, 8080), protocol: fc.constantFrom("TCP", "UDP") }),
      { selector: ({ containerPort, protocol }) => `${containerPort}${protocol}`, maxLength: 3 },
    ),
    resources: fc.record({ limits: fc.constantFrom({ cpu: "1" }, { cpu: "2", memory: "1Gi" }) }),
    securityContext: fc.record({ runAsUser: fc.nat(3) }),
  },
  { requiredKeys: ["name", "image"] },
);

const podSpec = fc.record(
  {
    containers: fc.uniqueArray(container, { selector: ({ name }) => name, minLength: 1, maxLength: 3 }),
    volumes: fc.uniqueArray(fc.record({ name: word, emptyDir: fc.constantFrom({}, { medium: "Memory" }) }), {
      selector: ({ name }) => name,
      maxLength: 3,
    }),
    nodeSelector: map,
    terminationGracePeriodSeconds: fc.nat(3),
    hostAliases: fc.constantFrom(
      [{ ip: "10.0.0.1", hostnames: ["a"] }],
      [{ ip: "10.0.0.2", hostnames: ["b"] }],
    ),
  },
  { requiredKeys: ["containers"] },
);

interface KindUnderTest {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly content: fc.Arbitrary<object>;
  readonly status?: fc.Arbitrary<object>;
  /** Default: merge and strategic merge patches. */
  readonly patchTypes?: readonly string[];
}

const deploymentSpec = fc.record(
  {
    replicas: fc.nat(3),
    selector: fc.constant({ matchLabels: { a: "b" } }),
    template: podSpec.map((spec) => ({ metadata: { labels: { a: "b" } }, spec })),
    strategy: fc.constantFrom(
      { type: "Recreate" },
      { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } },
    ),
    paused: fc.boolean(),
  },
  { requiredKeys: ["selector", "template"] },
);

/** With times, because upstream writes `null` for missing ones and owns them; we leave them out. */
const condition = fc.record({
  type: word,
  status: fc.constantFrom("True", "False"),
  reason: word,
  lastUpdateTime: fc.constant("2026-01-01T00:00:00Z"),
  lastTransitionTime: fc.constant("2026-01-01T00:00:00Z"),
});

const kinds: readonly KindUnderTest[] = [
  {
    path: `${core}/configmaps`,
    apiVersion: "v1",
    kind: "ConfigMap",
    content: fc.record({ data: map, binaryData: fc.constantFrom({}, { z: "AA==" }) }, { requiredKeys: [] }),
  },
  {
    path: `${apps}/deployments`,
    apiVersion: "apps/v1",
    kind: "Deployment",
    content: deploymentSpec.map((spec) => ({ spec })),
    status: fc
      .uniqueArray(condition, { selector: ({ type }) => type, maxLength: 3 })
      .map((conditions) => ({ observedGeneration: 1, conditions })),
  },
  {
    path: `${core}/services`,
    apiVersion: "v1",
    kind: "Service",
    content: fc
      .uniqueArray(
        fc.record({ name: word, port: fc.constantFrom(80, 81, 82), targetPort: fc.constantFrom(1, "x") }),
        { selector: ({ name }) => name, minLength: 1, maxLength: 3 },
      )
      .filter((ports) => new Set(ports.map(({ port }) => port)).size === ports.length)
      .map((ports) => ({ spec: { clusterIP: "None", ports, selector: { a: "b" } } })),
  },
];

const string = { type: "string" };
const widgetSpec = {
  type: "object",
  properties: {
    size: { type: "integer" },
    names: { type: "array", items: string, "x-kubernetes-list-type": "set" },
    plain: { type: "array", items: string },
    labels: { type: "object", additionalProperties: string },
    ports: {
      type: "array",
      items: {
        type: "object",
        required: ["port"],
        properties: { port: { type: "integer" }, protocol: { ...string, default: "TCP" }, name: string },
      },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port", "protocol"],
    },
    atomic: { type: "object", properties: { a: string, b: string }, "x-kubernetes-map-type": "atomic" },
    nested: {
      type: "object",
      properties: { a: string, deeper: { type: "object", properties: { b: string } } },
    },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

/** Definition of the custom resource that the sequences use. */
export const widgetDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: widgetSpec,
              status: {
                type: "object",
                properties: { phase: string, observedGeneration: { type: "integer" } },
              },
            },
          },
        },
        subresources: { status: {} },
      },
    ],
  },
};

export const widgets = `/apis/example.com/v1/namespaces/${namespace}/widgets`;

const widget: KindUnderTest = {
  path: widgets,
  apiVersion: "example.com/v1",
  kind: "Widget",
  patchTypes: ["merge"],
  content: fc
    .record(
      {
        size: fc.nat(3),
        names: fc.uniqueArray(word, { maxLength: 3 }),
        plain: fc.array(word, { maxLength: 2 }),
        labels: map,
        ports: fc.uniqueArray(
          fc.record({ port: fc.constantFrom(80, 443), name: word, protocol: fc.constantFrom("TCP", "UDP") }),
          { selector: ({ port, protocol }) => `${port}${protocol}`, maxLength: 3 },
        ),
        atomic: fc.record({ a: word, b: word }, { requiredKeys: [] }),
        nested: fc.record(
          { a: word, deeper: fc.record({ b: word }, { requiredKeys: [] }) },
          { requiredKeys: [] },
        ),
        free: fc.constantFrom({}, { a: 1 }, { a: { b: [1, 2] } }, { a: { b: [2], c: "x" } }),
      },
      { requiredKeys: [] },
    )
    .map((spec) => ({ spec })),
  status: fc.record({ phase: word, observedGeneration: fc.nat(2) }, { requiredKeys: ["phase"] }),
};

/** A sequence of requests that create an object and change it. */
export const operations: fc.Arbitrary<(name: string) => OwnershipRequest[]> = fc
  .constantFrom(...kinds, widget)
  .chain((kind) =>
    fc.tuple(firstOperation(kind), fc.array(nextOperation(kind), { minLength: 1, maxLength: 6 })),
  )
  .map(
    ([first, others]) =>
      (name) =>
        [first, ...others].map((operation) => operation(name)),
  );

function body(kind: KindUnderTest, name: string, sent: { metadata: object; content: object }): object {
  const { apiVersion, kind: kindName } = kind;
  return { apiVersion, kind: kindName, metadata: { name, ...sent.metadata }, ...sent.content };
}

const sentTo = (kind: KindUnderTest) => fc.record({ metadata, content: kind.content });

function createOf(kind: KindUnderTest): fc.Arbitrary<Operation> {
  return fc.tuple(manager, sentTo(kind)).map(([by, sent]) => (name) => ({
    method: "POST",
    path: `${kind.path}?fieldManager=${by}`,
    body: body(kind, name, sent),
  }));
}

function applyOf(kind: KindUnderTest): fc.Arbitrary<Operation> {
  return fc.tuple(manager, fc.boolean(), sentTo(kind)).map(([by, force, sent]) => (name) => ({
    method: "PATCH",
    path: `${kind.path}/${name}?fieldManager=${by}&force=${force}`,
    body: body(kind, name, sent),
    headers: { "content-type": "application/apply-patch+yaml" },
  }));
}

function putOf(kind: KindUnderTest): fc.Arbitrary<Operation> {
  return fc.tuple(manager, sentTo(kind)).map(([by, sent]) => (name) => ({
    method: "PUT",
    path: `${kind.path}/${name}?fieldManager=${by}`,
    body: body(kind, name, sent),
  }));
}

function patchOf(kind: KindUnderTest): fc.Arbitrary<Operation> {
  const type = fc.constantFrom(...(kind.patchTypes ?? ["merge", "strategic-merge"]));
  return fc
    .tuple(manager, type, optional(metadata), optional(kind.content))
    .map(([by, patch, meta, content]) => {
      return (name) => ({
        method: "PATCH",
        path: `${kind.path}/${name}?fieldManager=${by}`,
        body: { ...(meta && { metadata: meta }), ...content },
        headers: { "content-type": `application/${patch}-patch+json` },
      });
    });
}

function statusOf(kind: KindUnderTest, content: fc.Arbitrary<object>): fc.Arbitrary<Operation>[] {
  const merged = fc.tuple(manager, content).map(
    ([by, status]): Operation =>
      (name) => ({
        method: "PATCH",
        path: `${kind.path}/${name}/status?fieldManager=${by}`,
        body: { status },
        headers: { "content-type": "application/merge-patch+json" },
      }),
  );
  const applied = fc.tuple(manager, fc.boolean(), content).map(([by, force, status]): Operation => {
    return (name) => ({
      method: "PATCH",
      path: `${kind.path}/${name}/status?fieldManager=${by}&force=${force}`,
      body: body(kind, name, { metadata: {}, content: { status } }),
      headers: { "content-type": "application/apply-patch+yaml" },
    });
  });
  // Always a change: upstream loses the owner of the replicas when a Scale changes nothing.
  const scaled = fc.tuple(manager, fc.integer({ min: 4, max: 10_000 })).map(([by, replicas]): Operation => {
    return (name) => ({
      method: "PATCH",
      path: `${kind.path}/${name}/scale?fieldManager=${by}`,
      body: { spec: { replicas } },
      headers: { "content-type": "application/merge-patch+json" },
    });
  });
  const read = fc.constant<Operation>((name) => ({ method: "GET", path: `${kind.path}/${name}` }));
  return kind === widget ? [merged, applied, read] : [merged, applied, scaled, read];
}

function firstOperation(kind: KindUnderTest): fc.Arbitrary<Operation> {
  return fc.oneof(createOf(kind), applyOf(kind));
}

function nextOperation(kind: KindUnderTest): fc.Arbitrary<Operation> {
  const status = kind.status ? statusOf(kind, kind.status) : [];
  return fc.oneof(applyOf(kind), applyOf(kind), putOf(kind), patchOf(kind), ...status);
}
