import { describe, expect, test } from "vitest";
import type { UserInfo } from "../../request/user-info.ts";
import type { Attributes } from "../attributes.ts";
import { reviewLocalSubjectAccess, reviewSelfAccess, reviewSubjectAccess } from "./access-review.ts";
import { reviewSelf, reviewSelfRules, reviewToken } from "./reviews.ts";

const jane: UserInfo = { username: "jane", uid: "7", groups: ["dev"], extra: { team: ["x"] } };
let asked: Attributes | undefined;
const authorize = (attributes: Attributes) => {
  asked = attributes;
  const allowed = attributes.user.username === "jane" && attributes.verb === "get";
  return { allowed, reason: allowed ? "RBAC: allowed" : "" };
};
const pods = { verb: "get", resource: "pods", namespace: "a", name: "p" };

describe("access reviews", () => {
  test("a user can review their own access", () => {
    const spec = { resourceAttributes: { ...pods, group: "apps", subresource: "log" } };
    expect(reviewSelfAccess({ spec }, jane, authorize)).toEqual({
      kind: "SelfSubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: {},
      spec,
      status: { allowed: true, reason: "RBAC: allowed" },
    });
    expect(asked).toEqual({
      user: jane,
      verb: "get",
      isResourceRequest: true,
      apiGroup: "apps",
      apiVersion: "*",
      resource: "pods",
      subresource: "log",
      namespace: "a",
      name: "p",
      path: "",
      fieldSelector: [],
    });
  });

  test("for a non-resource path", () => {
    const spec = { nonResourceAttributes: { verb: "post", path: "/x" } };
    expect(reviewSelfAccess({ spec }, jane, authorize).status).toEqual({ allowed: false });
    expect(asked).toMatchObject({ isResourceRequest: false, verb: "post", path: "/x" });
  });

  test("for another user with groups and extra attributes", () => {
    const spec = {
      user: "jane",
      uid: "7",
      groups: ["dev"],
      extra: { team: ["x"] },
      resourceAttributes: pods,
    };
    expect(reviewSubjectAccess({ spec }, authorize).status).toMatchObject({ allowed: true });
    expect(asked?.user).toEqual(jane);
  });

  test("for another user in a namespace", () => {
    const review = { metadata: { namespace: "a" }, spec: { user: "jane", resourceAttributes: pods } };
    expect(reviewLocalSubjectAccess(review, "a", authorize).status).toMatchObject({ allowed: true });
    expect(() => reviewLocalSubjectAccess(review, "b", authorize)).toThrow(/must match namespace: b/);
  });

  test.each([
    [{ rawSelector: "spec.nodeName=n" }, [{ field: "spec.nodeName", operator: "=", value: "n" }], undefined],
    [{ rawSelector: "x" }, [], "spec.resourceAttributes.fieldSelector ignored due to parse error"],
    [
      { requirements: [{ key: "a", operator: "NotIn", values: ["b"] }] },
      [{ field: "a", operator: "!=", value: "b" }],
      undefined,
    ],
    [
      {
        requirements: [
          { key: "a", operator: "In", values: ["b"] },
          { key: "c", operator: "Exists" },
        ],
      },
      [{ field: "a", operator: "=", value: "b" }],
      "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
    ],
  ])("field selector %j", (fieldSelector, requirements, evaluationError) => {
    const { status } = reviewSelfAccess(
      { spec: { resourceAttributes: { ...pods, fieldSelector } } },
      jane,
      authorize,
    );
    expect(asked?.fieldSelector).toEqual(requirements);
    expect(status?.evaluationError).toBe(evaluationError);
  });

  const paths = { verb: "get", path: "/" };
  test.each<[string, () => unknown, string]>([
    [
      "about nothing",
      () => reviewSelfAccess({ spec: {} }, jane, authorize),
      "spec.resourceAttributes: Invalid value: null: exactly one of",
    ],
    [
      "about both",
      () =>
        reviewSelfAccess(
          { spec: { resourceAttributes: pods, nonResourceAttributes: paths } },
          jane,
          authorize,
        ),
      "cannot be specified in combination with resourceAttributes",
    ],
    [
      "without a user",
      () => reviewSubjectAccess({ spec: { resourceAttributes: pods } }, authorize),
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
    [
      "with a name",
      () =>
        reviewSelfAccess({ metadata: { name: "x" }, spec: { resourceAttributes: pods } }, jane, authorize),
      "must be empty",
    ],
    [
      "of another namespace",
      () =>
        reviewLocalSubjectAccess(
          { metadata: { namespace: "b" }, spec: { user: "x", resourceAttributes: pods } },
          "b",
          authorize,
        ),
      "must match metadata.namespace",
    ],
    [
      "of paths in a namespace",
      () =>
        reviewLocalSubjectAccess(
          { metadata: { namespace: "b" }, spec: { user: "x", nonResourceAttributes: paths } },
          "b",
          authorize,
        ),
      "disallowed on this kind of request",
    ],
    [
      "with an empty selector",
      () =>
        reviewSelfAccess({ spec: { resourceAttributes: { ...pods, labelSelector: {} } } }, jane, authorize),
      "requirements or rawSelector is required",
    ],
  ])("%s is refused", (_, review, message) => {
    expect(review).toThrow(message);
    expect(review).toThrow(expect.objectContaining({ code: 422 }));
  });
});

describe("rules reviews", () => {
  const rules = [
    { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["p"] },
    { verbs: ["get"], nonResourceURLs: ["/x"] },
  ];
  test("list the rules of the user", () => {
    const review = reviewSelfRules({ spec: { namespace: "a" } }, jane, () => ({ rules, problem: "p" }));
    expect(review).toMatchObject({
      spec: {},
      status: {
        resourceRules: [rules[0]],
        nonResourceRules: [rules[1]],
        incomplete: false,
        evaluationError: "p",
      },
    });
  });

  test("are incomplete for nodes, and need a namespace", () => {
    const node = { username: "system:node:n", groups: ["system:nodes"], extra: {} };
    const none = () => ({ rules: [], problem: "" });
    expect(reviewSelfRules({ spec: { namespace: "a" } }, node, none).status).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      evaluationError: "node authorizer does not support user rule resolution",
    });
    expect(() => reviewSelfRules({ spec: {} }, jane, none)).toThrow("no namespace on request");
  });
});

test("whoami returns every attribute of the user", () => {
  expect(reviewSelf(jane, Date.parse("2026-03-01T00:00:00.5Z"))).toEqual({
    kind: "SelfSubjectReview",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { creationTimestamp: "2026-03-01T00:00:00Z" },
    status: { userInfo: { username: "jane", uid: "7", groups: ["dev"], extra: { team: ["x"] } } },
  });
});

describe("token reviews", () => {
  const authenticateToken = async (token: string, audiences: readonly string[]) =>
    token === "good"
      ? { kind: "user" as const, user: jane, audiences }
      : { kind: "invalid" as const, reason: "invalid bearer token" };
  const deps = { authenticateToken, apiAudiences: ["api"] };

  test.each([
    [{ token: "good" }, { authenticated: true, user: { username: "jane" }, audiences: ["api"] }],
    [
      { token: "good", audiences: ["vault"] },
      { authenticated: true, audiences: ["vault"] },
    ],
    [{ token: "bad" }, { user: {}, error: "invalid bearer token" }],
  ])("%j", async (spec, status) => {
    expect((await reviewToken({ spec }, deps)).status).toMatchObject(status);
  });

  test("without a token are rejected", async () => {
    await expect(reviewToken({ spec: { token: "" } }, deps)).rejects.toMatchObject({ code: 400 });
  });
});
