import { describe, expect, test } from "vitest";
import type { EndpointSlice, Node, Pod, Service } from "../../api/meta/objects.ts";
import { makePod, makeService } from "../service-pods/service-pods.fixture.ts";
import { decideSlices, type SlicePlan } from "./decide-slices.ts";
import { createWrittenSlices } from "./endpoint-slice-controller.ts";

const node: Node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "node-1", labels: { "topology.kubernetes.io/zone": "here" } },
};
const decide = (service: Service, pods: readonly Pod[], slices: readonly EndpointSlice[] = []) =>
  decideSlices({ service, pods, node: (name) => (name === "node-1" ? node : undefined) }, slices);

let names = 0;
/** Objects that exist after a plan was carried out. */
function carryOut(plan: SlicePlan, slices: readonly EndpointSlice[] = []): EndpointSlice[] {
  const named = ({ metadata, ...rest }: EndpointSlice): EndpointSlice => {
    const name = metadata.name ?? `${metadata.generateName}${names++}`;
    return { ...rest, metadata: { uid: name, ...metadata, name, generation: 1 } };
  };
  const kept = slices.filter(
    (slice) =>
      ![...plan.update, ...plan.remove].some(({ metadata }) => metadata.name === slice.metadata.name),
  );
  return [...kept, ...plan.update, ...plan.create.map(named)];
}

const pods = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) =>
    makePod(`p${from + i}`, { ip: `10.0.${(from + i) >> 8}.${(from + i) & 255}` }),
  );
const counts = (plan: SlicePlan) => ({
  create: plan.create.length,
  update: plan.update.length,
  remove: plan.remove.length,
});
const sizes = (slices: readonly EndpointSlice[]) => slices.map(({ endpoints }) => endpoints?.length);
const nothing = { create: 0, update: 0, remove: 0 };

describe("an EndpointSlice", () => {
  test("has address, node, zone and conditions of each pod", () => {
    const service = makeService({ clusterIP: "None" }, { labels: { tier: "front" } });
    const spec = { nodeName: "node-1", hostname: "web-0", subdomain: "web" };
    expect(decide(service, [makePod("web-0", { spec })]).create).toEqual([
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: {
          namespace: "default",
          generateName: "web-",
          labels: {
            tier: "front",
            "service.kubernetes.io/headless": "",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
          },
          ownerReferences: [
            {
              apiVersion: "v1",
              kind: "Service",
              name: "web",
              uid: "service",
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        endpoints: [
          {
            addresses: ["10.0.0.1"],
            conditions: { ready: true, serving: true, terminating: false },
            hostname: "web-0",
            targetRef: { kind: "Pod", namespace: "default", name: "web-0", uid: "web-0" },
            nodeName: "node-1",
            zone: "here",
          },
        ],
      },
    ]);
  });

  const published = { publishNotReadyAddresses: true };
  const conditions: [string, Partial<NonNullable<Service["spec"]>>, Pod, [boolean, boolean, boolean]][] = [
    ["ready", {}, makePod("a"), [true, true, false]],
    ["not ready", {}, makePod("a", { ready: false }), [false, false, false]],
    ["terminating, still ready", {}, makePod("a", { terminating: true }), [false, true, true]],
    ["going", {}, makePod("a", { terminating: true, ready: false }), [false, false, true]],
    ["not ready, publishNotReadyAddresses", published, makePod("a", { ready: false }), [true, false, false]],
    [
      "terminating, publishNotReadyAddresses",
      published,
      makePod("a", { terminating: true }),
      [true, true, true],
    ],
  ];
  test.each(conditions)("%s", (_, spec, pod, [ready, serving, terminating]) => {
    const [slice] = decide(makeService(spec), [pod]).create;
    expect(slice?.endpoints?.[0]?.conditions).toEqual({ ready, serving, terminating });
  });

  const zone = { forZones: [{ name: "here" }] };
  test.each<[string, Pod, Record<string, string>, object | undefined]>([
    ["PreferClose", makePod("a"), {}, zone],
    ["PreferSameZone", makePod("a"), {}, zone],
    ["PreferSameNode", makePod("a"), {}, { ...zone, forNodes: [{ name: "node-1" }] }],
    ["PreferSameZone", makePod("a", { ready: false }), {}, undefined],
    ["PreferSameZone", makePod("a"), { "service.kubernetes.io/topology-mode": "Auto" }, undefined],
    ["PreferSameZone", makePod("a"), { "service.kubernetes.io/topology-mode": "Disabled" }, zone],
  ])("has hints for trafficDistribution %s (case %#)", (trafficDistribution, pod, annotations, hints) => {
    const service = makeService({ trafficDistribution }, { annotations });
    const slices = carryOut(decide(service, [pod]));
    expect(slices[0]?.endpoints?.[0]?.hints).toEqual(hints);
    expect(counts(decide(service, [pod], slices))).toEqual(nothing);
    const [changed] = decide(makeService(), [pod], slices).update;
    expect(changed?.endpoints?.map((endpoint) => endpoint.hints)).toEqual(hints && [undefined]);
  });

  test("has hints for the node alone if the node has no zone", () => {
    const facts = { service: makeService({ trafficDistribution: "PreferSameNode" }), pods: [makePod("a")] };
    const { create } = decideSlices({ ...facts, node: () => ({ ...node, metadata: {} }) }, []);
    expect(create[0]?.endpoints?.[0]?.hints).toEqual({ forNodes: [{ name: "node-1" }] });
  });

  test("is created for each address family of the service only", () => {
    const dual = makeService({ ipFamilies: ["IPv4", "IPv6"] });
    const pod = makePod("a", { ips: ["10.0.0.1", "fd00::1"] });
    const slices = carryOut(decide(dual, [pod]));
    expect(slices.map(({ addressType, endpoints }) => [addressType, endpoints?.[0]?.addresses])).toEqual([
      ["IPv4", ["10.0.0.1"]],
      ["IPv6", ["fd00::1"]],
    ]);
    expect(decide(makeService(), [pod], slices).remove).toMatchObject([{ addressType: "IPv6" }]);
  });

  test("is created for each resolution of a named port", () => {
    const service = makeService({ ports: [{ name: "http", port: 80, targetPort: "web" }] });
    const offering = (containerPort: number) => ({
      nodeName: "node-1",
      containers: [{ name: "c", ports: [{ name: "web", containerPort }] }],
    });
    const two = [makePod("a", { spec: offering(1) }), makePod("b", { ip: "10.0.0.2", spec: offering(2) })];
    const slices = carryOut(decide(service, two));
    expect(slices.map(({ ports }) => ports?.[0]?.port)).toEqual([1, 2]);
    expect(counts(decide(service, two, slices))).toEqual(nothing);
  });

  test("omits a pod whose node is unknown and reports it", () => {
    const pod = makePod("a", { spec: { nodeName: "gone" } });
    const plan = decide(makeService(), [pod]);
    expect(plan.problems).toEqual(["skipping Pod a for Service default/web: Node gone Not Found"]);
    expect(sizes(plan.create)).toEqual([0]);
    expect(sizes(decide(makeService(published), [pod]).create)).toEqual([1]);
  });
});

describe("EndpointSlices", () => {
  const service = makeService();

  test("of a service without pods are one empty slice, which is kept and reused", () => {
    const empty = carryOut(decide(service, []));
    expect(sizes(empty)).toEqual([0]);
    expect(counts(decide(service, [], empty))).toEqual(nothing);
    const plan = decide(service, pods(1), empty);
    expect(counts(plan)).toEqual({ create: 0, update: 1, remove: 0 });
    const one = carryOut(plan, empty);
    expect(counts(decide(service, pods(1), one))).toEqual(nothing);
    const back = decide(service, [], one);
    expect(counts(back)).toEqual({ create: 0, update: 1, remove: 0 });
    expect(sizes(back.update)).toEqual([0]);
  });

  test("hold up to 100 endpoints each", () => {
    const slices = carryOut(decide(service, pods(250)));
    expect(sizes(slices)).toEqual([100, 100, 50]);
    expect(counts(decide(service, pods(250), slices))).toEqual(nothing);
  });

  test("with free capacity take new pods", () => {
    const slices = carryOut(decide(service, pods(150)));
    const plan = decide(service, pods(170), slices);
    expect(counts(plan)).toEqual({ create: 0, update: 1, remove: 0 });
    expect(sizes(plan.update)).toEqual([70]);
  });

  test("are written only if one of their pods changes", () => {
    const slices = carryOut(decide(service, pods(250)));
    const changed = pods(250).map((pod, i) =>
      i === 120 ? makePod("p120", { ip: "10.0.0.120", ready: false }) : pod,
    );
    const plan = decide(service, changed, slices);
    expect(counts(plan)).toEqual({ create: 0, update: 1, remove: 0 });
    expect(plan.update[0]?.endpoints?.[20]?.conditions?.ready).toBe(false);
  });

  test("without pods are deleted while another slice remains", () => {
    const slices = carryOut(decide(service, pods(150)));
    expect(counts(decide(service, pods(100), slices))).toEqual({ create: 0, update: 0, remove: 1 });
  });

  test("follow the labels and ports of the service", () => {
    const slices = carryOut(decide(service, pods(2)));
    const labelled = makeService({}, { labels: { new: "one" } });
    expect(decide(labelled, pods(2), slices).update).toMatchObject([
      { metadata: { labels: { new: "one" } } },
    ]);
    const moved = makeService({ ports: [{ name: "http", port: 80, targetPort: 9090 }] });
    expect(decide(moved, pods(2), slices)).toMatchObject({
      create: [],
      update: [{ ports: [{ port: 9090 }], metadata: { name: slices[0]?.metadata.name } }],
      remove: [],
    });
  });

  test("of an earlier service with the same name are deleted", () => {
    const slices = carryOut(decide(makeService({}, { uid: "former" }), pods(2)));
    expect(counts(decide(service, pods(2), slices))).toEqual({ create: 1, update: 0, remove: 1 });
  });

  test("are not written because of fields that this controller does not manage", () => {
    const slices = carryOut(decide(service, pods(1))).map((slice) => ({
      ...slice,
      endpoints: slice.endpoints?.map((endpoint) => ({ ...endpoint, deprecatedTopology: { rack: "1" } })),
    }));
    expect(counts(decide(service, pods(1), slices))).toEqual(nothing);
  });
});

describe("written slices", () => {
  const [slice] = carryOut(decide(makeService(), pods(1)));
  if (!slice) throw new Error("no slice");
  const version = (generation: number) => ({ ...slice, metadata: { ...slice.metadata, generation } });

  test("are pending until they are observed, superseded or timed out", () => {
    const written = createWrittenSlices();
    written.recordWrite("s", version(2), 0);
    expect(written.isStale("s", [], 1)).toBe(true);
    expect(written.isStale("s", [version(1)], 1)).toBe(true);
    expect(written.isStale("s", [version(2)], 1)).toBe(false);
    expect(written.isStale("s", [], 1)).toBe(false);
    written.recordDeletion("s", slice, 0);
    expect(written.isStale("s", [slice], 1)).toBe(true);
    expect(written.isStale("s", [], 1)).toBe(false);
    written.recordWrite("s", version(3), 0);
    written.forget("s", slice);
    expect(written.isStale("s", [], 1)).toBe(false);
    written.recordWrite("s", version(4), 0);
    expect(written.isStale("s", [], 31_000)).toBe(false);
  });
});
