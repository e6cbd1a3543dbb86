import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { KubeObject } from "../../src/api/meta/objects.ts";
import type { Status } from "../../src/api/meta/status-error.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

interface Service extends KubeObject {
  spec: {
    clusterIP?: string;
    clusterIPs?: string[];
    ipFamilies?: string[];
    ipFamilyPolicy?: string;
    healthCheckNodePort?: number;
    ports: { port: number; nodePort?: number }[];
  };
}

const path = "/api/v1/namespaces/default/services";
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const ports = [{ port: 80 }];
const service = (name: string, spec: object = {}) => ({ metadata: { name }, spec: { ports, ...spec } });
const create = (name: string, spec: object = {}) => server.json<Service>("POST", path, service(name, spec));
const attempt = (name: string, spec: object) => server.call("POST", path, { body: service(name, spec) });
const remove = (name: string) => server.json("DELETE", `${path}/${name}`);

describe("cluster addresses and node ports", () => {
  test("are allocated as needed, one node port for all protocols of a port", async () => {
    const both = [
      { name: "tcp", port: 53, protocol: "TCP" },
      { name: "udp", port: 53, protocol: "UDP" },
    ];
    const { spec } = await create("dns", {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      ports: both,
    });
    expect(spec.clusterIPs).toEqual([spec.clusterIP]);
    expect(spec).toMatchObject({ ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" });
    expect(spec.ports[0]?.nodePort).toBeGreaterThanOrEqual(30_000);
    expect(spec.ports[1]?.nodePort).toBe(spec.ports[0]?.nodePort);
    expect(spec.healthCheckNodePort).toBeGreaterThanOrEqual(30_000);
    expect(spec.healthCheckNodePort).not.toBe(spec.ports[0]?.nodePort);
  });

  test("a headless service without a selector may have endpoints of either family", async () => {
    const { spec } = await create("headless", { clusterIP: "None" });
    expect(spec).toMatchObject({
      ipFamilies: ["IPv4", "IPv6"],
      ipFamilyPolicy: "RequireDualStack",
      clusterIPs: ["None"],
    });
  });

  test.each([
    [
      "an address of the API",
      { clusterIP: "10.96.0.1" },
      /spec.clusterIPs: Invalid value: \["10.96.0.1"\]: failed to allocate IP 10.96.0.1: provided IP is already allocated/,
    ],
    [
      "an address from elsewhere",
      { clusterIP: "192.168.1.1" },
      /the provided IP \(192.168.1.1\) is not in the valid range. The range of valid IPs is 10.96.0.0\/16/,
    ],
    ["no address", { clusterIP: "x".repeat(3_000) }, /must be a valid IP address/],
    [
      "a port out of range",
      { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] },
      /spec.ports\[0\].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767/,
    ],
    [
      "a family that is not there",
      { ipFamilies: ["IPv6"] },
      /spec.ipFamilies\[0\]: Invalid value: "IPv6": not configured on this cluster/,
    ],
    [
      "two families",
      { ipFamilyPolicy: "RequireDualStack" },
      /spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services/,
    ],
  ])("%s is refused", async (_, spec, complaint) => {
    const response = await attempt("greedy", spec);
    expect(response.status).toBe(422);
    expect(response.json<Status>().message).toMatch(complaint);
  });

  test("are released when a service is deleted or changes its type", async () => {
    const port = { type: "NodePort", ports: [{ port: 80, nodePort: 30_080 }] };
    await create("first", port);
    expect((await attempt("second", port)).json<Status>().message).toContain(
      "provided port is already allocated",
    );
    await remove("first");
    await expect.poll(async () => (await attempt("second", port)).status).toBe(201);
    await server.json("PUT", `${path}/second`, service("second", { type: "ClusterIP" }));
    await expect.poll(async () => (await attempt("third", port)).status).toBe(201);
  });

  test("can be requested again by a recreated service immediately", async () => {
    const clusterIP = "10.96.7.7";
    for (let i = 0; i < 30; i++) {
      await create("phoenix", { clusterIP });
      await remove("phoenix");
    }
    await create("phoenix", { clusterIP });
    // Releases of the earlier ones may still be under way: none of them is of this one.
    for (let i = 0; i < 10; i++) expect((await attempt("thief", { clusterIP })).status).toBe(422);
  });

  test("are kept by updates that omit them, and are immutable", async () => {
    const { spec } = await create("kept", { type: "NodePort" });
    const again = await server.json<Service>("PUT", `${path}/kept`, service("kept", { type: "NodePort" }));
    expect(again.spec).toMatchObject({
      clusterIP: spec.clusterIP,
      ports: [{ nodePort: spec.ports[0]?.nodePort }],
    });
    const other = await server.call("PUT", `${path}/kept`, {
      body: service("kept", { clusterIP: "10.96.8.8" }),
    });
    expect(other.json<Status>().message).toContain(
      'spec.clusterIPs[0]: Invalid value: ["10.96.8.8"]: may not change once set',
    );
  });

  test("a dry run returns them and allocates none", async () => {
    const spec = { type: "NodePort", clusterIP: "10.96.9.9", ports: [{ port: 80, nodePort: 30_099 }] };
    const response = await server.call("POST", `${path}?dryRun=All`, { body: service("dry", spec) });
    expect(response.json<Service>().spec).toMatchObject({
      clusterIP: "10.96.9.9",
      ports: [{ nodePort: 30_099 }],
    });
    await create("wet", spec);
  });
});

test("external IPs are rejected unless they are allowed; services that have them can still be changed", async () => {
  const externalIPs = ["192.0.2.1", "192.0.2.2"];
  const response = await attempt("greedy", { externalIPs });
  expect(response.status).toBe(403);
  expect(response.json<Status>().message).toBe(
    'services "greedy" is forbidden: Use of external IPs is denied by admission control; the option --allow-external-ips of the API server allows them',
  );
  const dataDir = temporaryFolder();
  const store = { kind: "lmdb" } as const;
  const allowing = await startTestServer({ dataDir, store, externalIPs: "allowed" });
  await allowing.json("POST", path, service("old", { externalIPs }));
  await allowing.close();
  const denying = await startTestServer({ dataDir, store });
  onTestFinished(denying.close);
  const put = (addresses: string[]) =>
    denying.call("PUT", `${path}/old`, { body: service("old", { externalIPs: addresses }) });
  expect((await put(["192.0.2.2"])).status).toBe(200);
  expect((await put(["192.0.2.2", "192.0.2.3"])).status).toBe(403);
  expect((await put([])).status).toBe(200);
});

describe("the kubernetes service of a server on loopback", () => {
  const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  const endpoints = "/api/v1/namespaces/default/endpoints";
  const port = () => Number(new URL(server.url).port);

  test("has Endpoints and an EndpointSlice with the port of the server and no loopback address", async () => {
    const found = await server.json<KubeObject & { subsets: unknown[] }>("GET", `${endpoints}/kubernetes`);
    const slice = await server.json("GET", `${slices}/kubernetes`);
    const ports = [{ name: "https", port: port(), protocol: "TCP" }];
    expect(slice).toMatchObject({
      metadata: { labels: { "kubernetes.io/service-name": "kubernetes" } },
      ports,
    });
    const hasAddress = Object.values(networkInterfaces()).some((all) =>
      all?.some(({ internal, family }) => !internal && family === "IPv4"),
    );
    expect(found.subsets ?? []).toEqual(
      hasAddress ? [{ addresses: [{ ip: expect.not.stringMatching(/^127\./) }], ports }] : [],
    );
  });

  test.each([`${path}/kubernetes`, `${endpoints}/kubernetes`, `${slices}/kubernetes`])(
    "gets %s again when it is deleted",
    async (url) => {
      const { uid } = (await server.json("GET", url)).metadata;
      await server.json("DELETE", url);
      await expect.poll(async () => (await server.call("GET", url)).status).toBe(200);
      expect((await server.json("GET", url)).metadata.uid).not.toBe(uid);
    },
  );
});
