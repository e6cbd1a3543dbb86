import { describe, expect, test } from "vitest";
import { decideClaim, describeRefusal, type ListedSandbox, markAnnotations } from "./decide-claim.ts";

const identity = { nodeName: "n1", kubeletId: "k1", clusterUid: "c1" };
const sandbox = (annotations: Record<string, string> = {}, id = "s1"): ListedSandbox => ({
  id,
  metadata: { name: "web", namespace: "shop", uid: "u1", attempt: 0 },
  annotations,
});
const marked = (more: Partial<typeof identity>, id?: string) =>
  sandbox(markAnnotations({ ...identity, ...more }), id);
const beforeContact = (more: Partial<typeof identity> = {}) =>
  sandbox(markAnnotations({ ...identity, ...more, clusterUid: undefined }));
const upstream = {
  "kubernetes.io/config.seen": "2026-01-01T00:00:00Z",
  "kubernetes.io/config.source": "api",
};

interface Given {
  readonly adopted?: readonly string[];
  readonly logs?: readonly string[];
  readonly adopt?: boolean;
  readonly clusterUid?: string | undefined;
}

function decide(sandboxes: readonly ListedSandbox[], given: Given = {}) {
  const { adopted = [], logs = [], adopt = false } = given;
  const owner = "clusterUid" in given ? { ...identity, clusterUid: given.clusterUid } : identity;
  const facts = { identity: owner, adopted: new Set(adopted), logDirectories: new Set(logs) };
  return decideClaim(sandboxes, facts, { adopt });
}

describe("a kubelet starts over", () => {
  test.each<[string, ListedSandbox | undefined, Given]>([
    ["no sandbox", undefined, {}],
    ["a sandbox of its cluster and node", marked({}), {}],
    ["one of before its first contact with the API server", beforeContact(), {}],
    ["the same before that contact", beforeContact(), { clusterUid: undefined }],
    ["one that it adopted before", sandbox(upstream), { adopted: ["s1"] }],
    ["one of an earlier version, whose pod's logs it has", sandbox(), { logs: ["shop_web_u1"] }],
  ])("%s", (_, found, given) => {
    expect(decide(found ? [found] : [], given)).toMatchObject({ kind: "claim" });
  });
});

describe("a kubelet does not start, unless it is to adopt, over", () => {
  test.each<[string, ListedSandbox, Given]>([
    ["a sandbox of upstream's kubelet", sandbox(upstream), {}],
    ["one without annotations", sandbox(), {}],
    ["one that looks like an earlier version's, of another pod", sandbox(), { logs: ["shop_web_u2"] }],
    ["one of another node", marked({ nodeName: "n2" }), {}],
    ["one of another cluster", marked({ clusterUid: "c2" }), {}],
    [
      "one of another cluster, whose pod's logs it has",
      marked({ clusterUid: "c2" }),
      { logs: ["shop_web_u1"] },
    ],
    ["one of a cluster while it knows none", marked({}), { clusterUid: undefined }],
    ["one of another kubelet of that name before its first contact", beforeContact({ kubeletId: "k2" }), {}],
    ["one that was adopted under another id", sandbox(upstream), { adopted: ["s2"] }],
  ])("%s", (_, found, given) => {
    const own = sandbox(upstream, "own");
    const adopted = [...(given.adopted ?? []), "own"];
    expect(decide([own, found], { ...given, adopted })).toEqual({ kind: "reject", notOwned: [found] });
    expect(decide([own, found], { ...given, adopted, adopt: true })).toEqual({
      kind: "claim",
      unmarked: new Set(["own", "s1"]),
      adopted: new Set(["own", "s1"]),
    });
  });
});

test("adopted sandboxes that are gone are forgotten, and those of an earlier version are not adopted", () => {
  const found = [sandbox({}, "earlier"), sandbox(upstream, "kept")];
  expect(decide(found, { adopted: ["kept", "gone"], logs: ["shop_web_u1"] })).toEqual({
    kind: "claim",
    unmarked: new Set(["earlier", "kept"]),
    adopted: new Set(["kept"]),
  });
});

test.each<[string, ListedSandbox[], RegExp]>([
  [
    "how many, and one of them",
    [sandbox(), sandbox({}, "s2")],
    /^the runtime has 2 pod sandboxes .* example shop\/web \(s1\): without an owner's mark\./,
  ],
  ["the node", [marked({ nodeName: "n2" })], /has 1 pod sandbox .*: of the node n2\./],
  ["the cluster", [marked({ clusterUid: "c2" })], /of the cluster c2 \(this cluster's uid is c1\)/],
  [
    "another data directory",
    [beforeContact({ kubeletId: "k2" })],
    /of a kubelet with another data directory/,
  ],
  ["what can be done", [sandbox()], /crictl rmp -f ID.*--adopt-sandboxes/],
])("the refusal names %s", (_, notOwned, says) => {
  expect(describeRefusal(notOwned, identity)).toMatch(says);
});

test("the error states that the cluster is not known", () => {
  const unknown = { ...identity, clusterUid: undefined };
  expect(describeRefusal([marked({})], unknown)).toMatch(/unknown: .* the API server does not respond/);
});
