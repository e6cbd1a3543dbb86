import { beforeEach, describe, expect, test } from "vitest";
import { inA, makeNodeWorld, nowhere, pod, rich, volume } from "./node-authorizer.fixture.ts";
import type { NodeGraph } from "./node-graph.ts";

describe("objects that the node's pods refer to", () => {
  const { ask } = makeNodeWorld();

  test.each(
    [
      [
        "pull",
        "volume-secret",
        "projected-secret",
        "csi-secret",
        "env-secret",
        "env-from-secret",
        "init-secret",
      ].map((name) => inA("secrets", name)),
      ["volume-map", "projected-map", "env-map", "env-from-map"].map((name) => inA("configmaps", name)),
      ["claim", "rich-scratch"].map((name) => inA("persistentvolumeclaims", name)),
      [inA("serviceaccounts", "sa"), inA("pods", "rich"), inA("pods", "mirror")],
      [
        { resource: "persistentvolumes", name: "pv" },
        { name: "pv-secret", namespace: "storage" },
      ],
    ].map((list) => [list] as const),
  )("%j may be got", (list) => {
    for (const asked of list) expect([asked, ask(asked)]).toEqual([asked, { allowed: true, reason: "" }]);
  });

  test.each([
    inA("secrets", "n2-secret"),
    inA("secrets", "pending-secret"),
    inA("secrets", "mirror-secret"),
    inA("secrets", "volume-map"),
    { name: "volume-secret", namespace: "b" },
    { name: "other-pv-secret", namespace: "storage" },
    { name: "controllers-only", namespace: "storage" },
    inA("configmaps", "volume-secret"),
    inA("persistentvolumeclaims", "other-claim"),
    { resource: "persistentvolumes", name: "other-pv" },
    inA("serviceaccounts", "stolen"),
    inA("pods", "other"),
    inA("pods", "pending"),
    { resource: "volumeattachments", apiGroup: "storage.k8s.io", name: "x" },
  ])("%j may not be got", (asked) => {
    expect(ask(asked)).toEqual({ allowed: false, reason: nowhere });
  });
});

describe("the graph follows events", () => {
  let graph: NodeGraph;
  let ask: ReturnType<typeof makeNodeWorld>["ask"];
  beforeEach(() => {
    ({ graph, ask } = makeNodeWorld());
  });
  const allowed = (name: string) => ask(inA("secrets", name)).allowed;

  test("access ends with the last pod that refers to an object", () => {
    graph.setPod(pod("second", "n1", { imagePullSecrets: [{ name: "pull" }] }));
    graph.deletePod("a", "rich");
    expect([allowed("volume-secret"), allowed("pull")]).toEqual([false, true]);
    graph.deletePod("a", "second");
    expect(allowed("pull")).toBe(false);
    graph.deletePod("a", "never-was");
  });

  test("a recreated pod has only its own references", () => {
    graph.setPod(pod("rich", "n1", {}, { uid: "new" }));
    expect(allowed("volume-secret")).toBe(false);
  });

  test("a pod gives access once it is bound", () => {
    graph.setPod(
      pod("pending", "n1", { volumes: [{ name: "v", secret: { secretName: "pending-secret" } }] }),
    );
    expect(allowed("pending-secret")).toBe(true);
  });

  test("references of an ephemeral container count too", () => {
    const debug = { name: "d", envFrom: [{ secretRef: { name: "debug" } }] };
    graph.setPod({ ...rich, spec: { containers: [], ...rich.spec, ephemeralContainers: [debug] } });
    expect([allowed("debug"), allowed("volume-secret")]).toEqual([true, true]);
  });

  test("a volume of another claim and a deleted volume give no access", () => {
    const secret = { name: "pv-secret", namespace: "storage" };
    graph.setVolume(volume("pv", "other-claim", "pv-secret"));
    expect(ask(secret).allowed).toBe(false);
    graph.setVolume(volume("pv", "claim", "pv-secret"));
    expect(ask(secret).allowed).toBe(true);
    graph.deleteVolume("pv");
    expect(ask(secret).allowed).toBe(false);
    expect(ask({ resource: "persistentvolumes", name: "pv" }).allowed).toBe(false);
  });
});
