import { beforeAll, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";

describeKubectl("kubectl drain", (cluster, tool) => {
  const node = `node-${tool}`;

  beforeAll(async () => {
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: node } });
    const spec = {
      nodeName: node,
      containers: [{ name: "main", image: "i" }],
      terminationGracePeriodSeconds: 0,
    };
    for (const name of ["guarded-1", "guarded-2", "free"]) {
      await cluster.apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name,
          labels: { app: name.replace(/-.*/, "") },
          // drain refuses pods that no controller would recreate.
          ownerReferences: [
            { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "1", controller: true },
          ],
        },
        spec,
      });
      await cluster.ok([
        ...["patch", "pod", name, "--subresource=status", "--type=merge", "-p"],
        '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}',
      ]);
    }
    await cluster.ok("create poddisruptionbudget guard --selector=app=guarded --min-available=1");
  });

  /** Writes the status as the disruption controller does. */
  async function allowDisruptions(count: number): Promise<void> {
    const path = cluster.path("policy/v1", "poddisruptionbudgets/guard");
    const current = await cluster.server.json("GET", path);
    await cluster.server.json("PUT", `${path}/status`, {
      ...current,
      status: {
        observedGeneration: current.metadata.generation,
        disruptionsAllowed: count,
        currentHealthy: 2,
        desiredHealthy: 1,
        expectedPods: 2,
      },
    });
  }

  test("cordon and uncordon", async () => {
    expect(await cluster.ok(`cordon ${node}`)).toBe(`node/${node} cordoned\n`);
    expect(await cluster.ok(`get node ${node}`)).toMatch(/Unknown,SchedulingDisabled/);
    expect(await cluster.ok(`get node ${node} -o jsonpath={.spec.unschedulable}`)).toBe("true");
    expect(await cluster.ok(`uncordon ${node}`)).toBe(`node/${node} uncordoned\n`);
    expect(await cluster.fails("cordon missing")).toBe(
      'Error from server (NotFound): nodes "missing" not found\n',
    );
  });

  test("taint", async () => {
    expect(await cluster.ok(`taint node ${node} a=b:NoSchedule`)).toBe(`node/${node} tainted\n`);
    expect(await cluster.ok(`taint node ${node} a-`)).toBe(`node/${node} untainted\n`);
  });

  test("a budget without allowed disruptions prevents evictions", async () => {
    await allowDisruptions(0);
    const draining = cluster.follow(`drain ${node}`);
    await draining.until(/pod\/free evicted/);
    for (const name of ["guarded-1", "guarded-2"]) {
      const refused = new RegExp(
        `"${name}".*Cannot evict pod as it would violate the pod's disruption budget`,
      );
      await draining.until(refused, "stderr");
    }
    await draining.stop();
    expect((await cluster.run(`drain ${node} --timeout=1s`)).code).toBe(1);
    expect(await cluster.ok("get pods -o name")).toBe("pod/guarded-1\npod/guarded-2\n");
  });

  test("each eviction uses the budget, and the last one empties the node", async () => {
    await allowDisruptions(1);
    const draining = cluster.follow(`drain ${node} --timeout=60s`);
    await draining.until(/pod\/guarded-\d evicted/);
    expect(await cluster.ok("get pods -o name")).toMatch(/^pod\/guarded-\d\n$/);
    expect(await cluster.ok("get poddisruptionbudget guard -o jsonpath={.status.disruptionsAllowed}")).toBe(
      "0",
    );
    await allowDisruptions(1);
    await draining.until(new RegExp(`node/${node} drained`));
    await draining.stop();
    expect(await cluster.ok("get pods -o name")).toBe("");
  });
});
