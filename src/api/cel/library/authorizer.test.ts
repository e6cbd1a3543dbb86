import { expect, test } from "vitest";
import { compile, evaluate } from "../compile.ts";
import { baseEnvironment } from "../environment-base.ts";
import {
  type Authorize,
  authorizerType,
  createAuthorizer,
  createResourceCheck,
  resourceCheckType,
} from "./authorizer.ts";

const authorize: Authorize = (verb, check, account) => {
  const user = account ? `${account.namespace}/${account.name}` : "user";
  const asked =
    "path" in check
      ? check.path
      : `${check.group}/${check.resource}/${check.subresource}/${check.namespace}/${check.name}`;
  return { allowed: verb === "get", reason: `${user} ${verb} ${asked}` };
};

const environment = {
  ...baseEnvironment,
  variables: new Map([
    ["authorizer", authorizerType],
    ["authorizer.requestResource", resourceCheckType],
  ]),
};

const request = { group: "apps", resource: "deployments", subresource: "", namespace: "a", name: "b" };
const values = {
  authorizer: createAuthorizer(authorize),
  "authorizer.requestResource": createResourceCheck(authorize, request),
};

test.each([
  ["authorizer.path('/healthz').check('get').allowed()", true],
  ["authorizer.path('/healthz').check('post').allowed()", false],
  [
    "authorizer.group('').resource('pods').namespace('x').name('y').check('list').reason()",
    "user list /pods//x/y",
  ],
  ["authorizer.serviceAccount('a', 'b').path('/x').check('get').reason()", "a/b get /x"],
  ["authorizer.requestResource.check('delete').reason()", "user delete apps/deployments//a/b"],
  ["authorizer.path('/x').check('get').errored()", false],
])("%s", (expression, value) => {
  const compiled = compile(expression, environment);
  if ("errors" in compiled) throw new Error(compiled.errors);
  expect(evaluate(compiled.program, values)).toMatchObject({ value });
});

test("allows two checks in one expression", () => {
  const checks = (count: number) =>
    Array(count).fill("authorizer.path('/x').check('get').allowed()").join(" && ");
  const results = [2, 3].map((count) => {
    const compiled = compile(checks(count), environment);
    return "program" in compiled && "value" in evaluate(compiled.program, values);
  });
  expect(results).toEqual([true, false]);
});
