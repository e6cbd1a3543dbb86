import { expect, test } from "vitest";
import { requestAttributes } from "./authorize-node-request.ts";

test.each([
  ["GET", "imagePullProgress", "get", ["imagepullprogress", "proxy"]],
  ["GET", "pods", "get", ["pods", "proxy"]],
  ["GET", "runningpods", "get", ["pods", "proxy"]],
  ["GET", "healthz", "get", ["healthz", "proxy"]],
  ["GET", "configz", "get", ["configz", "proxy"]],
  ["GET", "metrics", "get", ["metrics"]],
  ["GET", "stats", "get", ["stats"]],
  ["GET", "logs", "get", ["log"]],
  ["POST", "exec", "create", ["proxy"]],
  ["GET", "containerLogs", "get", ["proxy"]],
  ["DELETE", "anything", "delete", ["proxy"]],
  ["PUT", "", "update", ["proxy"]],
  ["PATCH", "x", "patch", ["proxy"]],
  ["OPTIONS", "constructor", "", ["proxy"]],
  ["toString", "toString", "", ["proxy"]],
])("%s /%s is %s of %j", (method, root, verb, subresources) => {
  expect(requestAttributes(method, root)).toEqual({ verb, subresources });
});
