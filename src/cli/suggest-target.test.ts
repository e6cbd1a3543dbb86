import { expect, test } from "vitest";
import { type Nearby, suggestTarget, type Target } from "./suggest-target.ts";

const nothing: Nearby = { namespaces: [], pods: [], statefulSets: [] };
const web: Target = { kind: "pod", name: "web" };
const missing = "there is no pod web in the namespace default";

test.each<[string, Target, Partial<Nearby>, string]>([
  [
    "in another namespace",
    web,
    { namespaces: ["shop", "test"] },
    `${missing}, but in shop, test: add -n shop`,
  ],
  [
    "a StatefulSet",
    web,
    { statefulSets: ["web"], pods: ["web-0"] },
    `${missing}, but a StatefulSet: ask for statefulset/web`,
  ],
  [
    "pods of a Deployment",
    web,
    { pods: ["webby", "web-7d9f-x2x"] },
    `${missing}; did you mean web-7d9f-x2x?`,
  ],
  ["a typing error", web, { pods: ["wab", "other"] }, `${missing}; did you mean wab?`],
  [
    "nothing near",
    web,
    { pods: ["a", "b", "c", "d", "e", "f", "g"] },
    `${missing}; there are a, b, c, d, e and 2 more`,
  ],
  ["nothing at all", web, {}, `${missing}; kubectl get pods --all-namespaces shows what there is`],
  [
    "a pod where a set was asked for",
    { kind: "statefulset", name: "web-0" },
    { pods: ["web-0"], statefulSets: ["web"] },
    "there is no StatefulSet web-0 in the namespace default, but a pod: ask for pod/web-0",
  ],
  [
    "another set",
    { kind: "statefulset", name: "db" },
    { statefulSets: ["database"] },
    "there is no StatefulSet db in the namespace default; there is database",
  ],
])("%s", (_, target, there, says) => {
  expect(suggestTarget(target, "default", { ...nothing, ...there })).toBe(says);
});
