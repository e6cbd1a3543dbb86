import { expect, test } from "vitest";
import type { Pod } from "../../api/objects.ts";
import { chooseHoldUp } from "./find-hold-up.ts";

const pod = (name: string, revision: string, ready: boolean): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { "controller-revision-hash": revision } },
  status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
});

test.each([
  { name: "all ready", pods: [pod("db-0", "new", true)], expected: undefined },
  {
    name: "the lowest ordinal, by number",
    pods: [pod("db-10", "old", false), pod("db-9", "old", false)],
    expected: "db-9",
  },
  {
    name: "the new revision before the old",
    pods: [pod("db-0", "old", false), pod("db-2", "new", false)],
    expected: "db-2",
  },
])("$name", ({ pods, expected }) => {
  expect(chooseHoldUp(pods, "new")?.metadata.name).toBe(expected);
});
