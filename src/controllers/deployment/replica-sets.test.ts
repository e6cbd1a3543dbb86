import { expect, test } from "vitest";
import { revisionOf } from "../../api/kinds/apps/deployment/revision.ts";
import { deploymentOf, setOf } from "../shared/workload.fixture.ts";
import { countIn, currentSetAnnotations, maxRevision } from "./replica-sets.ts";

const revision = "deployment.kubernetes.io/revision";
const history = "deployment.kubernetes.io/revision-history";

test("adds the previous revision to the history of a ReplicaSet that becomes current again", () => {
  const deployment = deploymentOf({}, { metadata: { annotations: { cause: "undo", [revision]: "4" } } });
  const once = currentSetAnnotations(deployment, setOf(), 5n);
  expect(once).toEqual({ cause: "undo", [revision]: "5", [history]: "1" });
  const again = currentSetAnnotations(deployment, setOf({ annotations: once }), 7n);
  expect(again).toMatchObject({ [revision]: "7", [history]: "1,5" });
});

test("keeps the revision of the current ReplicaSet and does not copy annotations that belong to the Deployment", () => {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", team: "a" };
  const deployment = deploymentOf({}, { metadata: { annotations } });
  const set = setOf({ annotations: { [revision]: "9" } });
  expect(currentSetAnnotations(deployment, set, 3n)).toEqual({ team: "a", [revision]: "9" });
});

test("drops the oldest revisions of a long history", () => {
  const before = Array.from({ length: 700 }, (_, i) => String(i)).join(",");
  const set = setOf({ annotations: { [revision]: "700", [history]: before } });
  const after = currentSetAnnotations(deploymentOf(), set, 701n)[history] ?? "";
  expect(after.length).toBeLessThanOrEqual(2000);
  expect(after.endsWith(",699,700")).toBe(true);
});

test("ignores revisions and counts that are not numbers", () => {
  expect(revisionOf(setOf({ annotations: { [revision]: "x" } }))).toBeUndefined();
  expect(maxRevision([setOf({ annotations: { [revision]: "x" } }), setOf()])).toBe(1n);
  const large = "9223372036854775808";
  expect(revisionOf(setOf({ annotations: { [revision]: large } }))).toBeUndefined();
  for (const text of ["-1", "1e3", "", "99999999999", "2147483648"]) {
    expect(countIn(setOf({ annotations: { n: text } }), "n")).toBeUndefined();
  }
  expect(countIn(setOf({ annotations: { n: "12" } }), "n")).toBe(12);
});
