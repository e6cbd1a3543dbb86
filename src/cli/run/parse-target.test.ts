import { expect, test } from "vitest";
import { type Nearby, parseTarget, suggestTarget, type Target } from "./parse-target.ts";

test.each([
  ["web-0", "pod", "web-0"],
  ["pod/web-0", "pod", "web-0"],
  ["po/web-0", "pod", "web-0"],
  ["Pods/web-0", "pod", "web-0"],
  ["statefulset/db", "statefulset", "db"],
  ["sts/db", "statefulset", "db"],
  ["statefulset.apps/db", "statefulset", "db"],
  ["statefulsets.v1.apps/db", "statefulset", "db"],
  ["deployment/web", "deployment", "web"],
  ["deployments.apps/web", "deployment", "web"],
  ["deploy/web", "deployment", "web"],
  ["rs/web-5d4f", "replicaset", "web-5d4f"],
  ["ds/agent", "daemonset", "agent"],
  ["job/work", "job", "work"],
  ["jobs.batch/work", "job", "work"],
  ["cj/nightly", "cronjob", "nightly"],
  ["replicaset.apps/web-5d4f", "replicaset", "web-5d4f"],
])("%s is the %s %s", (text, kind, name) => {
  expect(parseTarget(text)).toEqual({ kind, name });
});

test.each(["", "/", "pod/", "service/a", "pod/a/b", "pods.apps/a", "statefulset.batch/a"])(
  "rejects %j",
  (text) => {
    expect(() => parseTarget(text)).toThrow("name a pod (web-0 or pod/web-0)");
  },
);

const nothing: Nearby = { namespaces: [], pods: [], workloads: [] };
const web: Target = { kind: "pod", name: "web" };
const missing = "there is no pod web in the namespace default";

test.each<[string, Target, Partial<Nearby>, string]>([
  [
    "in another namespace",
    web,
    { namespaces: ["shop", "test"] },
    `${missing}, but there is one in shop, test: add -n shop`,
  ],
  [
    "a StatefulSet",
    web,
    { workloads: [{ kind: "statefulset", name: "web" }], pods: ["web-0"] },
    `${missing}, but there is a StatefulSet: use statefulset/web`,
  ],
  [
    "a Deployment",
    web,
    { workloads: [{ kind: "deployment", name: "web" }], pods: ["web-7d9f-x2x"] },
    `${missing}, but there is a Deployment: use deployment/web`,
  ],
  [
    "the beginning of a name",
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
  ["nothing at all", web, {}, `${missing}; kubectl get pods --all-namespaces lists all of them`],
  [
    "a pod where a set was asked for",
    { kind: "statefulset", name: "web-0" },
    { pods: ["web-0"], workloads: [{ kind: "statefulset", name: "web" }] },
    "there is no StatefulSet web-0 in the namespace default, but there is a pod: use pod/web-0",
  ],
  [
    "another set",
    { kind: "statefulset", name: "db" },
    {
      workloads: [
        { kind: "statefulset", name: "database" },
        { kind: "deployment", name: "dbs" },
      ],
    },
    "there is no StatefulSet db in the namespace default; there is database",
  ],
])("%s", (_, target, there, says) => {
  expect(suggestTarget(target, "default", { ...nothing, ...there })).toBe(says);
});
