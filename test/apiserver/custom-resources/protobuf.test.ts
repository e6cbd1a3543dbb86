import { afterAll, beforeAll, expect, test } from "vitest";
import { everyField } from "../../../src/api/schema/protobuf/every-field.fixture.ts";
import { startTestServer, type TestServer } from "../../support/servers/api-server.ts";
import { definitionsPath, waitForCondition } from "./crontab.fixture.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const protobuf = { "content-type": "application/vnd.kubernetes.protobuf" };
const body = Buffer.from(everyField.protobuf, "base64");
const name = "everythings.stable.example.com";

test("a definition in protobuf is stored and served like the same definition in JSON", async () => {
  const created = await server.call("POST", definitionsPath, { headers: protobuf, body });
  expect({ status: created.status, text: created.text }).toMatchObject({ status: 201 });
  const { spec } = await waitForCondition(server, name, "Established");
  expect(spec).toEqual(JSON.parse(everyField.json).spec);

  const objects = "/apis/stable.example.com/v1/namespaces/default/everythings";
  const refused = await server.call("POST", objects, { headers: protobuf, body });
  expect({ status: refused.status, text: refused.text }).toMatchObject({
    status: 415,
    text: expect.stringContaining("accepted media types include: application/json, application/yaml"),
  });

  // DeleteOptions that `kubectl drain` sends.
  const options = Buffer.from("azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxICCAcaACIA", "base64");
  const deleted = await server.call("DELETE", `${definitionsPath}/${name}`, {
    headers: protobuf,
    body: options,
  });
  expect(deleted.status).toBe(200);
});
