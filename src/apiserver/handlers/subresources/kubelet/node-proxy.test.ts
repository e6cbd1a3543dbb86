import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { type AdmissionPlugin, forbidIf } from "../../../admission/admission-chain.ts";
import { type FakeKubelet, useKubeletProxy } from "./kubelet-proxy.fixture.ts";

const { get, startApiServer, startKubelet } = useKubeletProxy();

const echoRequest: FakeKubelet = {
  async request(request, response) {
    const { method, url, headers } = request;
    const body = await text(request);
    response.writeHead(201, { "x-kubelet": "yes", "access-control-allow-origin": "*" });
    response.end(JSON.stringify({ method, url, headers, body }));
  },
};

test("method, path, query, headers and body pass through; credentials do not", async () => {
  const port = await startApiServer({ kubeletPort: await startKubelet(echoRequest) });
  const url = "/api/v1/nodes/n1/proxy/some/%2Fpath?a=b%20c";
  const headers = { authorization: "Bearer secret", "x-own": "1" };
  const answer = await get(port, url, { method: "PUT", headers, body: "x".repeat(200_000) });
  expect(answer).toMatchObject({ code: 201, headers: { "x-kubelet": "yes" } });
  expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
  const seen = JSON.parse(answer.body);
  expect(seen).toMatchObject({ method: "PUT", url: "/some/%2Fpath?a=b%20c", headers: { "x-own": "1" } });
  expect(seen.body).toHaveLength(200_000);
  expect(seen.headers).not.toHaveProperty("authorization");
});

test.each([
  ["/api/v1/nodes/n1/proxy", "/"],
  ["/api/v1/nodes/n1/proxy?x=1", "/?x=1"],
])("%s is %s", async (url, expected) => {
  const port = await startApiServer({ kubeletPort: await startKubelet(echoRequest) });
  expect(JSON.parse((await get(port, url)).body).url).toBe(expected);
});

test("only the kubelet's port may be given", async () => {
  const kubeletPort = await startKubelet(echoRequest);
  const port = await startApiServer({ kubeletPort });
  expect((await get(port, `/api/v1/nodes/n1:${kubeletPort}/proxy/x`)).code).toBe(201);
  expect((await get(port, `/api/v1/nodes/https:n1:${kubeletPort}/proxy/x`)).code).toBe(201);
  expect((await get(port, "/api/v1/nodes/n1:22/proxy/x")).code).toBe(400);
});

test.each([
  ["/logs/", 301, "/api/v1/nodes/n1/proxy/logs/"],
  ["https://10.1.1.1/", 502, undefined],
  ["//10.1.1.1/", 502, undefined],
])("a redirect to %s", async (location, code, expected) => {
  const kubeletPort = await startKubelet({
    request: (_request, response) => response.writeHead(301, { location }).end(),
  });
  const answer = await get(await startApiServer({ kubeletPort }), "/api/v1/nodes/n1/proxy/logs");
  expect(answer.code).toBe(code);
  expect(answer.headers.location).toBe(expected);
});

test("a kubelet that is down", async () => {
  const answer = await get(await startApiServer({ kubeletPort: 1 }), "/api/v1/nodes/n1/proxy/metrics");
  expect(JSON.parse(answer.body)).toMatchObject({
    code: 503,
    reason: "ServiceUnavailable",
    message: "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused",
  });
});

test("a request through nodes/proxy is admitted as a CONNECT", async () => {
  const reject: AdmissionPlugin = {
    name: "reject",
    handles: (operation) => operation === "connect",
    validate: (request) => forbidIf(request, "proxying is disabled"),
  };
  const port = await startApiServer({ kubeletPort: await startKubelet(echoRequest), plugins: [reject] });
  const response = await get(port, "/api/v1/nodes/n1/proxy/healthz");
  expect(response.code).toBe(403);
  expect(response.body).toContain("proxying is disabled");
});
