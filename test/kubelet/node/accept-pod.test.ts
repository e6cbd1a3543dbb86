import { expect, test } from "vitest";
import { isReady, useSimulatedNode } from "../../support/node/simulated-node.ts";

const cluster = useSimulatedNode();

test("accepts a pod that selects a label which the node has just received", async () => {
  const { node, client } = cluster;
  const body = { metadata: { labels: { fresh: "yes" } } };
  await client.patch("nodes", { name: node.name }, { patch: { kind: "strategic", body } });
  await node.run("fresh-label", { nodeSelector: { fresh: "yes" } });
  await node.until("fresh-label", isReady);
});

test("rejects a pod whose host port another pod of the node uses", async () => {
  const { node } = cluster;
  const container = { ports: [{ containerPort: 80, hostPort: 21_017 }] };
  await node.run("first", { container });
  await node.until("first", isReady);
  await node.run("second", { container });
  const { status } = await node.until("second", (pod) => pod.status?.phase !== "Pending");
  expect(status).toMatchObject({
    phase: "Failed",
    reason: "NodePorts",
    message:
      "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  });
});
