import { expect, test } from "vitest";
import { deploymentOf, setOf } from "../workload.fixture.ts";
import { countIn, currentSetAnnotations, maxRevision, revisionOf } from "./revision-annotations.ts";

const revision = "deployment.kubernetes.io/revision";
const history = "deployment.kubernetes.io/revision-history";

test("a set that becomes the current one again remembers what it was", () => {
  const deployment = deploymentOf({}, { metadata: { annotations: { cause: "undo", [revision]: "4" } } });
  const once = currentSetAnnotations(deployment, setOf(), 5);
  expect(once).toEqual({ cause: "undo", [revision]: "5", [history]: "1" });
  const again = currentSetAnnotations(deployment, setOf({ annotations: once }), 7);
  expect(again).toMatchObject({ [revision]: "7", [history]: "1,5" });
});

test("the current one keeps its revision, and what belongs to the Deployment alone stays there", () => {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", team: "a" };
  const deployment = deploymentOf({}, { metadata: { annotations } });
  const set = setOf({ annotations: { [revision]: "9" } });
  expect(currentSetAnnotations(deployment, set, 3)).toEqual({ team: "a", [revision]: "9" });
});

test("a long history forgets its beginning", () => {
  const before = Array.from({ length: 700 }, (_, i) => String(i)).join(",");
  const set = setOf({ annotations: { [revision]: "700", [history]: before } });
  const after = currentSetAnnotations(deploymentOf(), set, 701)[history] ?? "";
  expect(after.length).toBeLessThanOrEqual(2000);
  expect(after.endsWith(",699,700")).toBe(true);
});

test("what is no number is no revision, and no count", () => {
  expect(revisionOf(setOf({ annotations: { [revision]: "x" } }))).toBeUndefined();
  expect(maxRevision([setOf({ annotations: { [revision]: "x" } }), setOf()])).toBe(1);
  for (const text of ["-1", "1e3", "", "99999999999", "2147483648"]) {
    expect(countIn(setOf({ annotations: { n: text } }), "n")).toBeUndefined();
  }
  expect(countIn(setOf({ annotations: { n: "12" } }), "n")).toBe(12);
});
