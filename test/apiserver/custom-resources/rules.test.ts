import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../support/servers/api-server.ts";
import {
  cronTab,
  cronTabDefinition,
  cronTabsPath,
  cronTabVersion,
  definitionsPath,
  establish,
} from "./crontab.fixture.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  const spec = {
    type: "object",
    properties: {
      min: { type: "integer" },
      max: { type: "integer" },
      image: {
        type: "string",
        maxLength: 20,
        "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "image is immutable" }],
      },
    },
    "x-kubernetes-validations": [
      {
        rule: "self.min <= self.max",
        messageExpression: "'min %d is above max %d'.format([self.min, self.max])",
        reason: "FieldValueForbidden",
        fieldPath: ".min",
      },
    ],
  };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  const version = cronTabVersion("v1", { schema, subresources: {}, additionalPrinterColumns: [] });
  await establish(server, cronTabDefinition({ versions: [version] }));
});
afterAll(() => server.close());

async function write(method: "POST" | "PATCH", spec: object) {
  const response =
    method === "POST"
      ? await server.call("POST", cronTabsPath, { body: cronTab("a", spec) })
      : await server.call("PATCH", `${cronTabsPath}/a`, {
          headers: { "content-type": "application/merge-patch+json" },
          body: { spec },
        });
  const { message } = response.json<{ message?: string }>();
  const prefix = 'CronTab.stable.example.com "a" is invalid: ';
  return { status: response.status, ...(message && { message: message.replace(prefix, "") }) };
}

const immutable = 'spec.image: Invalid value: "other": image is immutable';

test("an object is rejected and accepted by a rule, and by a transition rule when it changes", async () => {
  expect(await write("POST", { min: 2, max: 1, image: "busybox" })).toEqual({
    status: 422,
    message: "spec.min: Forbidden: min 2 is above max 1",
  });
  // A transition rule does not apply to a new object.
  expect(await write("POST", { min: 1, max: 2, image: "busybox" })).toEqual({ status: 201 });
  expect(await write("PATCH", { min: 3 })).toEqual({
    status: 422,
    message: "spec.min: Forbidden: min 3 is above max 2",
  });
  expect(await write("PATCH", { image: "other" })).toEqual({ status: 422, message: immutable });
  expect(await write("PATCH", { max: 3 })).toEqual({ status: 200 });
  const { spec } = await server.json<{ spec?: object } & { metadata: object }>("GET", `${cronTabsPath}/a`);
  expect(spec).toEqual({ min: 1, max: 3, image: "busybox" });
});

test("a definition with a rule that does not compile is rejected", async () => {
  const spec = { type: "object", "x-kubernetes-validations": [{ rule: "self.missing > 1" }] };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  const names = { plural: "wrongs", kind: "Wrong" };
  const versions = [cronTabVersion("v1", { schema, subresources: {}, selectableFields: [] })];
  const response = await server.call("POST", definitionsPath, {
    body: cronTabDefinition({ names, versions }),
  });
  expect(response.status).toBe(422);
  expect(response.json<{ message: string }>().message).toContain("undefined field 'missing'");
});
