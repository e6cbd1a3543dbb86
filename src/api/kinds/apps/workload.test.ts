import { expect, test } from "vitest";
import { cellsOf } from "../cells.fixture.ts";

const template = {
  spec: {
    containers: [
      { name: "a", image: "i:1" },
      { name: "b", image: "j:2" },
    ],
  },
};
const selector = { matchLabels: { app: "web" } };

test.each<[string, object, unknown[]]>([
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
    "PodDisruptionBudget",
    { spec: { minAvailable: "50%" }, status: { disruptionsAllowed: 1 } },
    ["x", "50%", "N/A", 1, "60m"],
  ],
  ["PodDisruptionBudget", { spec: { maxUnavailable: 0 } }, ["x", "N/A", "0", 0, "60m"]],
])("%s %j", (kind, fields, expected) => {
  expect(cellsOf(kind, fields)).toEqual(expected);
});

test("the controller column of a revision contains kind and group", () => {
  const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "Web", uid: "", controller: true };
  expect(cellsOf("ControllerRevision", { revision: 4 }, { ownerReferences: [owner] })).toEqual([
    "x",
    "statefulset.apps/Web",
    4,
    "60m",
  ]);
});
