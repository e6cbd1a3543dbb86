import { expect, test } from "vitest";
import { cellsOf } from "../cells.fixture.ts";

test("a binding shows its role, and its subjects by kind", () => {
  const binding = {
    roleRef: { kind: "ClusterRole", name: "view" },
    subjects: [
      { kind: "User", name: "ann" },
      { kind: "User", name: "bob" },
      { kind: "Group", name: "dev" },
      { kind: "ServiceAccount", namespace: "ns", name: "sa" },
    ],
  };
  expect(cellsOf("RoleBinding", binding)).toEqual([
    "x",
    "ClusterRole/view",
    "60m",
    "ann, bob",
    "dev",
    "ns/sa",
  ]);
});
