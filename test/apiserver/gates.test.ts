import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Features } from "../../src/api/feature-gates.ts";
import type { KubeObject, Pod, StatefulSet } from "../../src/api/objects.ts";
import type { Status } from "../../src/api/status-error.ts";
import { startTestServer, type TestServer } from "../support/api-server.ts";

const pods = "/api/v1/namespaces/default/pods";
const statefulSets = "/apis/apps/v1/namespaces/default/statefulsets";
const merge = { "content-type": "application/merge-patch+json" };

let dataDir: string;
let server: TestServer | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "kindling-gates-"));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(dataDir, { recursive: true, force: true });
});

/** A server of the same data with other gates: what an administrator does to switch one. */
async function restart(features: Partial<Features>): Promise<TestServer> {
  await server?.close();
  server = await startTestServer({ dataDir, store: { kind: "lmdb" }, features });
  return server;
}

const probe = { httpGet: { port: 80, path: "/started" }, failureThreshold: 30 };
const container = (more: object = {}) => ({ name: "main", image: "nginx:1", ...more });
const pod = (name: string, ...containers: object[]) => ({ metadata: { name }, spec: { containers } });

function statefulSet(
  name: string,
  { containers = [container()], ...spec }: { containers?: object[]; [field: string]: unknown } = {},
) {
  const labels = { app: name };
  return {
    metadata: { name },
    spec: {
      serviceName: name,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
      ...spec,
    },
  };
}

describe("950-8: startupProbe with its gate off", () => {
  const probes = (object: KubeObject) => JSON.stringify(object).match(/"startupProbe"/g)?.length ?? 0;
  const off = () => restart({ StartupProbeEnabled: false });

  test("is dropped from new objects, without a word", async () => {
    const api = await off();
    const created = await api.call("POST", pods, {
      body: pod("new", container({ startupProbe: probe, livenessProbe: probe })),
    });
    expect(created.status).toBe(201);
    expect(created.headers.warning).toBeUndefined();
    expect(probes(created.json())).toBe(0);
    expect(created.json<Pod>().spec?.containers[0]?.livenessProbe).toMatchObject({ failureThreshold: 30 });
    expect(probes(await api.json("GET", `${pods}/new`))).toBe(0);
    const set = await api.json(
      "POST",
      statefulSets,
      statefulSet("new", { containers: [container({ startupProbe: probe })] }),
    );
    expect(probes(set)).toBe(0);
  });

  test("is dropped even where it is wrong: nobody looks at what goes", async () => {
    const api = await off();
    const broken = container({ startupProbe: { httpGet: { port: -1 }, successThreshold: 5 } });
    expect((await api.call("POST", pods, { body: pod("broken", broken) })).status).toBe(201);
  });

  test("stays where it already was, through changes of other things", async () => {
    const before = await restart({ StartupProbeEnabled: true });
    await before.json("POST", pods, pod("old", container({ startupProbe: probe })));
    await before.json(
      "POST",
      statefulSets,
      statefulSet("old", { containers: [container({ startupProbe: probe })] }),
    );
    const api = await off();
    expect(probes(await api.json("GET", `${pods}/old`))).toBe(1);
    const labelled = await api.call("PATCH", `${pods}/old`, {
      body: { metadata: { labels: { a: "b" } } },
      headers: merge,
    });
    expect(probes(labelled.json())).toBe(1);
    const scaled = await api.call("PATCH", `${statefulSets}/old`, {
      body: { spec: { replicas: 3 } },
      headers: merge,
    });
    expect(scaled.json<StatefulSet>().spec?.replicas).toBe(3);
    expect(probes(scaled.json())).toBe(1);
  });

  test("cannot be added to what did not have it", async () => {
    const before = await restart({ StartupProbeEnabled: true });
    await before.json("POST", statefulSets, statefulSet("plain"));
    const api = await off();
    const template = { template: { spec: { containers: [container({ startupProbe: probe })] } } };
    const patched = await api.call("PATCH", `${statefulSets}/plain`, {
      body: { spec: template },
      headers: merge,
    });
    expect(patched.status).toBe(200);
    expect(probes(patched.json())).toBe(0);
    expect(patched.json<StatefulSet>().metadata.generation).toBe(1);
  });

  test("is back with the gate", async () => {
    await off();
    const api = await restart({ StartupProbeEnabled: true });
    const created = await api.json<Pod>("POST", pods, pod("again", container({ startupProbe: probe })));
    expect(created.spec?.containers[0]?.startupProbe).toEqual({
      httpGet: { port: 80, path: "/started", scheme: "HTTP" },
      failureThreshold: 30,
      successThreshold: 1,
      periodSeconds: 10,
      timeoutSeconds: 1,
    });
  });
});

describe("950-7: what a probe may be", () => {
  const at = "spec.containers[0].";

  test.each([
    [
      "a second success for startup",
      { startupProbe: { ...probe, successThreshold: 2 } },
      "startupProbe.successThreshold: Invalid value: 2: must be 1",
    ],
    [
      "a second success for liveness",
      { livenessProbe: { ...probe, successThreshold: 2 } },
      "livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ],
    [
      "no handler",
      { startupProbe: { periodSeconds: 1 } },
      "startupProbe: Required value: must specify a handler type",
    ],
    [
      "two handlers",
      { startupProbe: { ...probe, tcpSocket: { port: 1 } } },
      "startupProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
    ],
    [
      "a negative delay",
      { startupProbe: { ...probe, initialDelaySeconds: -1 } },
      "startupProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      "a negative period",
      { startupProbe: { ...probe, periodSeconds: -1 } },
      "startupProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      "a negative threshold",
      { startupProbe: { ...probe, failureThreshold: -1 } },
      "startupProbe.failureThreshold: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      "no grace",
      { startupProbe: { ...probe, terminationGracePeriodSeconds: 0 } },
      "startupProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
    ],
    [
      "grace for readiness",
      { readinessProbe: { ...probe, terminationGracePeriodSeconds: 5 } },
      "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes",
    ],
    [
      "a port out of range",
      { startupProbe: { tcpSocket: { port: 70_000 } } },
      "startupProbe.tcpSocket.port: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
    [
      "a port name that is none",
      { startupProbe: { tcpSocket: { port: "no_port" } } },
      'startupProbe.tcpSocket.port: Invalid value: "no_port": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
    [
      "an unknown scheme",
      { startupProbe: { httpGet: { port: 80, scheme: "FTP" } } },
      'startupProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
    ],
    [
      "a header that is none",
      { startupProbe: { httpGet: { port: 80, httpHeaders: [{ name: "a b", value: "x" }] } } },
      "startupProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    ],
    ["no command", { startupProbe: { exec: {} } }, "startupProbe.exec.command: Required value"],
  ])("%s", async (_, probes, complaint) => {
    const api = server ?? (await restart({}));
    const response = await api.call("POST", pods, { body: pod("wrong", container(probes)) });
    expect(response.status).toBe(422);
    expect(response.json<Status>().message).toBe(`Pod "wrong" is invalid: ${at}${complaint}`);
    expect(response.json<Status>().details?.causes?.[0]?.field).toBe(at + complaint.split(":")[0]);
  });

  test("named ports, headers, HTTPS and a grace period of its own are taken", async () => {
    const api = await restart({});
    const startupProbe = {
      httpGet: {
        port: "web",
        path: "/",
        scheme: "HTTPS",
        host: "example.org",
        httpHeaders: [{ name: "X-A", value: "b" }],
      },
      terminationGracePeriodSeconds: 5,
    };
    const ports = [{ name: "web", containerPort: 8443 }];
    const created = await api.json<Pod>("POST", pods, pod("right", container({ ports, startupProbe })));
    expect(created.spec?.containers[0]?.startupProbe).toMatchObject(startupProbe);
  });
});

describe("3541-1 and 3541-9: EnforcedRollingUpdate", () => {
  const enforced = (rollingUpdate?: object) => ({
    updateStrategy: { type: "EnforcedRollingUpdate", ...(rollingUpdate && { rollingUpdate }) },
  });
  const strategyOf = (set: StatefulSet) => set.spec?.updateStrategy;

  test("with the gate on is taken, with a partition and a number that may be unavailable", async () => {
    const api = await restart({ EnforcedRollingUpdateInStatefulSet: true });
    const plain = await api.json<StatefulSet>("POST", statefulSets, statefulSet("plain", enforced({})));
    expect(strategyOf(plain)).toEqual({ type: "EnforcedRollingUpdate", rollingUpdate: { partition: 0 } });
    const rollingUpdate = { partition: 2, maxUnavailable: "50%" };
    const full = await api.json<StatefulSet>(
      "POST",
      statefulSets,
      statefulSet("full", enforced(rollingUpdate)),
    );
    expect(strategyOf(full)).toEqual({ type: "EnforcedRollingUpdate", rollingUpdate });
    const switched = await api.call("PATCH", `${statefulSets}/plain`, {
      body: { spec: { updateStrategy: { type: "OnDelete", rollingUpdate: null } } },
      headers: merge,
    });
    expect(strategyOf(switched.json())).toEqual({ type: "OnDelete" });
  });

  test.each([
    [true, "Sometimes", "must be 'RollingUpdate', 'OnDelete', or 'EnforcedRollingUpdate'"],
    [false, "Sometimes", "must be 'RollingUpdate' or 'OnDelete'"],
    [false, "EnforcedRollingUpdate", "must be 'RollingUpdate' or 'OnDelete'"],
  ])("gate %s: %s is refused", async (gate, type, allowed) => {
    const api = await restart({ EnforcedRollingUpdateInStatefulSet: gate });
    const response = await api.call("POST", statefulSets, {
      body: statefulSet("new", { updateStrategy: { type } }),
    });
    expect(response.status).toBe(422);
    expect(response.json<Status>().message).toBe(
      `StatefulSet.apps "new" is invalid: spec.updateStrategy: Invalid value: {"Type":"${type}","RollingUpdate":null}: ${allowed}`,
    );
  });

  test("a stored one stays when the gate goes: it can be changed, scaled and given up, but not taken up again", async () => {
    const before = await restart({ EnforcedRollingUpdateInStatefulSet: true });
    await before.json("POST", statefulSets, statefulSet("stored", enforced({ partition: 1 })));
    const api = await restart({ EnforcedRollingUpdateInStatefulSet: false });
    const patch = async (body: object) =>
      (await api.call("PATCH", `${statefulSets}/stored`, { body, headers: merge })).status;

    const stored = await api.json<StatefulSet>("GET", `${statefulSets}/stored`);
    expect(strategyOf(stored)).toMatchObject({
      type: "EnforcedRollingUpdate",
      rollingUpdate: { partition: 1 },
    });
    expect(await patch({ metadata: { labels: { a: "b" } } })).toBe(200);
    expect(await patch({ spec: { replicas: 2, template: { metadata: { annotations: { a: "b" } } } } })).toBe(
      200,
    );
    expect(await patch({ spec: enforced({ partition: 2 }) })).toBe(200);
    const status = { ...stored, metadata: { name: "stored" }, status: { replicas: 1 } };
    expect((await api.call("PUT", `${statefulSets}/stored/status`, { body: status })).status).toBe(200);
    expect(strategyOf(await api.json("GET", `${statefulSets}/stored`))).toMatchObject({
      type: "EnforcedRollingUpdate",
      rollingUpdate: { partition: 2 },
    });

    expect(await patch({ spec: { updateStrategy: { type: "RollingUpdate" } } })).toBe(200);
    expect(await patch({ spec: enforced() })).toBe(422);
    expect((await api.call("POST", statefulSets, { body: statefulSet("new", enforced()) })).status).toBe(422);
  });
});

describe("StatefulSetRecreateStrategy", () => {
  const recreate = { updateStrategy: { type: "Recreate" } };
  const recreated = (name: string) => statefulSet(name, recreate);

  test("off, as it is at first: Recreate is refused with the three allowed", async () => {
    const api = await restart({});
    const response = await api.call("POST", statefulSets, { body: recreated("new") });
    expect(response.status).toBe(422);
    expect(response.json<Status>().message).toBe(
      `StatefulSet.apps "new" is invalid: spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: must be 'RollingUpdate', 'OnDelete', or 'EnforcedRollingUpdate'`,
    );
  });

  test("on: it is taken; a stored one stays when the gate goes, and once given up is not taken up again", async () => {
    const before = await restart({ StatefulSetRecreateStrategy: true });
    const stored = await before.json<StatefulSet>("POST", statefulSets, recreated("stored"));
    expect(stored.spec?.updateStrategy).toEqual({ type: "Recreate" });
    const api = await restart({ StatefulSetRecreateStrategy: false });
    const patch = async (spec: object) =>
      (await api.call("PATCH", `${statefulSets}/stored`, { body: { spec }, headers: merge })).status;
    expect(await patch({ replicas: 2 })).toBe(200);
    expect(await patch(recreate)).toBe(200);
    expect(await patch({ updateStrategy: { type: "OnDelete" } })).toBe(200);
    expect(await patch(recreate)).toBe(422);
  });
});
