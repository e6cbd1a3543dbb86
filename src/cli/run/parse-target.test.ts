import { expect, test } from "vitest";
import { parseTarget } from "./parse-target.ts";

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
  ["replicaset.apps/web-5d4f", "replicaset", "web-5d4f"],
])("%s is the %s %s", (text, kind, name) => {
  expect(parseTarget(text)).toEqual({ kind, name });
});

test.each(["", "/", "pod/", "job/a", "pod/a/b", "pods.apps/a", "statefulset.batch/a"])(
  "rejects %j",
  (text) => {
    expect(() => parseTarget(text)).toThrow("name a pod (web-0 or pod/web-0)");
  },
);
