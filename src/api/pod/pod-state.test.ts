import { expect, test } from "vitest";
import type { Pod } from "../meta/objects.ts";
import { nameWorkload, workloadOf } from "./pod-state.ts";

test.each([
  [{ kind: "ReplicaSet", name: "web-5d4f", revision: "5d4f" }, "Deployment/web"],
  [{ kind: "ReplicaSet", name: "web", revision: "5d4f" }, "ReplicaSet/web"],
  [{ kind: "ReplicaSet", name: "web-", revision: "" }, "ReplicaSet/web-"],
  [{ kind: "StatefulSet", name: "db-5d4f", revision: "5d4f" }, "StatefulSet/db-5d4f"],
  [{ kind: "Pod", name: "alone", revision: "" }, "Pod/alone"],
])("names the workload of %j as %s", (facts, owner) => {
  expect(nameWorkload(facts)).toBe(owner);
});

test("takes the workload of a pod from its controller and the label of its revision", () => {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f", uid: "r", controller: true };
  const pod = (metadata: Pod["metadata"]): Pod => ({ apiVersion: "v1", kind: "Pod", metadata });
  const labels = { "pod-template-hash": "5d4f" };
  expect(workloadOf(pod({ name: "web-5d4f-x", labels, ownerReferences: [owner] }))).toBe("Deployment/web");
  expect(workloadOf(pod({ name: "alone", labels }))).toBe("Pod/alone");
});
