import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { createClusterState } from "./cluster-state.ts";
import { describePod } from "./pod-info.ts";
import { makeNode, makeObjects, makePod, makeState } from "./scheduling.fixture.ts";

const query = {
  key: "web",
  namespaces: new Set(["default"]),
  matches: ({ labels }: { labels: Pod["metadata"]["labels"] }) => labels?.app === "web",
};

describe("an assumed pod", () => {
  const pod = describePod(makePod({ requests: { cpu: "1" } }));

  test("is counted on its node until it is forgotten", () => {
    const state = makeState({ nodes: [makeNode("a")] });
    state.assumePod(pod, "a");
    expect(state.node("a")?.requested.cpu).toBe(1_000);
    expect(state.forgetPod(pod.uid)).toBe(true);
    expect(state.node("a")?.requested.cpu).toBe(0);
    expect(state.node("a")?.pods.size).toBe(0);
  });

  test("is counted once when the API confirms it, and cannot be forgotten afterwards", () => {
    const state = makeState({ nodes: [makeNode("a")] });
    state.assumePod(pod, "a");
    state.placePod(pod, "a");
    expect(state.forgetPod(pod.uid)).toBe(false);
    expect(state.node("a")?.requested.cpu).toBe(1_000);
  });

  test("moves to the node that the API reports", () => {
    const state = makeState({ nodes: [makeNode("a"), makeNode("b")] });
    state.assumePod(pod, "a");
    state.placePod(pod, "b");
    expect(state.node("a")?.requested.cpu).toBe(0);
    expect(state.node("b")?.requested.cpu).toBe(1_000);
  });
});

test("counts the pods of a node that appears late or again", () => {
  const state = makeState({ pods: { a: [makePod({ requests: { cpu: "1" } })] } });
  expect(state.nodes).toEqual([]);
  state.putNode(makeNode("a"));
  expect(state.node("a")?.requested.cpu).toBe(1_000);
  state.removeNode("a");
  state.putNode(makeNode("a", { labels: { new: "yes" } }));
  expect(state.nodes.map(({ requested }) => requested.cpu)).toEqual([1_000]);
});

test("orders nodes round-robin over zones", () => {
  const zone = (name: string) => ({ labels: { "topology.kubernetes.io/zone": name } });
  const state = makeState({
    nodes: [
      makeNode("a1", zone("a")),
      makeNode("a2", zone("a")),
      makeNode("a3", zone("a")),
      makeNode("b1", zone("b")),
    ],
  });
  expect(state.nodes.map(({ name }) => name)).toEqual(["a1", "b1", "a2", "a3"]);
});

test("totals match the current pods after any sequence of changes", () => {
  const names = ["a", "b", "c"];
  const step = fc.record({
    kind: fc.constantFrom("place", "assume", "remove", "forget", "putNode", "removeNode"),
    pod: fc.integer({ min: 0, max: 4 }),
    node: fc.constantFrom(...names),
    isWeb: fc.boolean(),
    cpu: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const state = createClusterState(makeObjects({}));
      state.count(query);
      const expected = new Map<string, { node: string; cpu: number; isWeb: boolean; isAssumed: boolean }>();
      const nodes = new Set<string>();
      for (const { kind, pod, node, isWeb, cpu } of steps) {
        const affinity = {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone", labelSelector: {} }],
          },
        };
        const info = describePod(
          makePod({
            name: `p${pod}`,
            requests: { cpu: String(cpu) },
            labels: { app: isWeb ? "web" : "db" },
            ...(isWeb && { affinity }),
          }),
        );
        if (kind === "place" || kind === "assume") {
          (kind === "place" ? state.placePod : state.assumePod)(info, node);
          expected.set(info.uid, { node, cpu, isWeb, isAssumed: kind === "assume" });
        } else if (kind === "remove") {
          state.removePod(info.uid);
          expected.delete(info.uid);
        } else if (kind === "forget") {
          state.forgetPod(info.uid);
          if (expected.get(info.uid)?.isAssumed) expected.delete(info.uid);
        } else if (kind === "putNode") {
          state.putNode(makeNode(node));
          nodes.add(node);
        } else {
          state.removeNode(node);
          nodes.delete(node);
        }
      }
      const all = [...expected.values()];
      const groups = [...state.terms.requiredAnti.values()];
      for (const name of names) {
        const there = all.filter(({ node }) => node === name);
        const web = there.filter(({ isWeb }) => isWeb).length;
        expect(state.count(query).get(name) ?? 0).toBe(web);
        expect(groups.reduce((sum, { perNode }) => sum + (perNode.get(name) ?? 0), 0)).toBe(web);
        const total = there.reduce((sum, { cpu }) => sum + cpu * 1_000, 0);
        expect(state.node(name)?.requested.cpu).toBe(nodes.has(name) ? total : undefined);
      }
    }),
  );
});
