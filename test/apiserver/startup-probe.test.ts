import { describe, expect, test } from "vitest";
import type { KubeObject, Pod, StatefulSet } from "../../src/api/meta/objects.ts";
import {
  container,
  mergePatch,
  statefulSet,
  statefulSets,
  useGatedServer,
} from "../support/servers/gated-server.ts";
import { pods, useSharedServer } from "../support/servers/shared-server.ts";

const probe = { httpGet: { port: 80, path: "/started" }, failureThreshold: 30 };
const pod = (name: string, ...containers: object[]) => ({ metadata: { name }, spec: { containers } });

describe("950-8: startupProbe with its gate off", () => {
  const { restart } = useGatedServer();
  const probes = (object: KubeObject) => JSON.stringify(object).match(/"startupProbe"/g)?.length ?? 0;
  const off = () => restart({ StartupProbeEnabled: false });

  test("is silently dropped from new objects", async () => {
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

  test("is dropped even where it is invalid: dropped fields are not validated", async () => {
    const api = await off();
    const broken = container({ startupProbe: { httpGet: { port: -1 }, successThreshold: 5 } });
    expect((await api.call("POST", pods, { body: pod("broken", broken) })).status).toBe(201);
  });

  test("is kept in objects that have it, also when other fields change", async () => {
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
      headers: mergePatch,
    });
    expect(probes(labelled.json())).toBe(1);
    const scaled = await api.call("PATCH", `${statefulSets}/old`, {
      body: { spec: { replicas: 3 } },
      headers: mergePatch,
    });
    expect(scaled.json<StatefulSet>().spec?.replicas).toBe(3);
    expect(probes(scaled.json())).toBe(1);
  });

  test("cannot be added to an object without it", async () => {
    const before = await restart({ StartupProbeEnabled: true });
    await before.json("POST", statefulSets, statefulSet("plain"));
    const api = await off();
    const template = { template: { spec: { containers: [container({ startupProbe: probe })] } } };
    const patched = await api.call("PATCH", `${statefulSets}/plain`, {
      body: { spec: template },
      headers: mergePatch,
    });
    expect(patched.status).toBe(200);
    expect(probes(patched.json())).toBe(0);
    expect(patched.json<StatefulSet>().metadata.generation).toBe(1);
  });

  test("is accepted again with the gate on", async () => {
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

describe("950-7: validation of probes", () => {
  const server = useSharedServer();
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
    const status = await server.fails("POST", pods, pod("wrong", container(probes)));
    expect(status).toMatchObject({
      code: 422,
      message: `Pod "wrong" is invalid: ${at}${complaint}`,
      details: { causes: [{ field: at + complaint.split(":")[0] }] },
    });
  });

  test("named ports, headers, HTTPS and a separate grace period are accepted", async () => {
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
    const created = await server.json<Pod>("POST", pods, pod("right", container({ ports, startupProbe })));
    expect(created.spec?.containers[0]?.startupProbe).toMatchObject(startupProbe);
  });
});
