import { describe, expect, test } from "vitest";
import type { Container, Probe } from "../../meta/objects.ts";
import { makePod, makePodWith, sentences } from "../pod.fixture.ts";
import { validatePod } from "./pod.ts";

const probes = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
const tcp = { tcpSocket: { port: 80 } };

describe("950-7 defaults of a probe", () => {
  test.each(probes)("950-7 %s", (name) => {
    const { spec } = makePodWith({ [name]: { httpGet: { port: 80 } } });
    expect(spec?.containers[0]?.[name]).toEqual({
      httpGet: { path: "/", port: 80, scheme: "HTTP" },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    });
  });

  test("950-7 set values are kept; the service of a grpc probe defaults to the empty string", () => {
    const probe = { grpc: { port: 9 }, timeoutSeconds: 2, periodSeconds: 3, failureThreshold: 30 };
    const { spec } = makePodWith({ startupProbe: { ...probe } });
    expect(spec?.containers[0]?.startupProbe).toEqual({
      ...probe,
      grpc: { port: 9, service: "" },
      successThreshold: 1,
    });
  });

  test("950-7 sidecars are probed as main containers are, with the same defaults", () => {
    const sidecar = { name: "side", image: "a", restartPolicy: "Always", startupProbe: { ...tcp } };
    const pod = makePod({ initContainers: [sidecar] });
    expect(pod.spec?.initContainers?.[0]?.startupProbe?.failureThreshold).toBe(3);
    expect(validatePod(pod)).toEqual([]);
  });
});

describe("950-7 valid probes", () => {
  test.each<[string, Probe]>([
    ["exec", { exec: { command: ["true"] } }],
    ["httpGet by number", { httpGet: { port: 8080, path: "/healthz" } }],
    [
      "httpGet by name, with headers, over HTTPS",
      {
        httpGet: { port: "http", scheme: "HTTPS", httpHeaders: [{ name: "X-Token", value: "a" }] },
      },
    ],
    ["tcpSocket by name", { tcpSocket: { port: "http", host: "127.0.0.1" } }],
    ["grpc", { grpc: { port: 5000, service: "health" } }],
    [
      "all numbers",
      { ...tcp, initialDelaySeconds: 5, timeoutSeconds: 4, periodSeconds: 3, failureThreshold: 2 },
    ],
  ])("950-7 %s", (_, probe) => {
    for (const name of probes)
      expect(validatePod(makePodWith({ [name]: structuredClone(probe) }))).toEqual([]);
  });

  test("950-7 a probe may set a grace period, except for readiness", () => {
    const probe = { ...tcp, terminationGracePeriodSeconds: 5 };
    for (const name of ["livenessProbe", "startupProbe"]) {
      expect(validatePod(makePodWith({ [name]: { ...probe } }))).toEqual([]);
    }
    expect(sentences(validatePod(makePodWith({ readinessProbe: probe })))).toEqual([
      "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes",
    ]);
  });

  test("950-7 only readiness probes may have successThreshold above 1", () => {
    const probe = { ...tcp, successThreshold: 2 };
    expect(validatePod(makePodWith({ readinessProbe: { ...probe } }))).toEqual([]);
    for (const name of ["livenessProbe", "startupProbe"]) {
      expect(sentences(validatePod(makePodWith({ [name]: { ...probe } })))).toEqual([
        `spec.containers[0].${name}.successThreshold: Invalid value: 2: must be 1`,
      ]);
    }
  });
});

describe("950-7 every field of a probe is checked", () => {
  test.each<[Probe, string[]]>([
    [{}, ["startupProbe: Required value: must specify a handler type"]],
    [
      { ...tcp, exec: { command: ["a"] } },
      ["startupProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"],
    ],
    [{ exec: {} }, ["startupProbe.exec.command: Required value"]],
    [
      { httpGet: { port: 0 } },
      ["startupProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"],
    ],
    [
      { httpGet: { port: "HTTP" } },
      [
        'startupProbe.httpGet.port: Invalid value: "HTTP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'startupProbe.httpGet.port: Invalid value: "HTTP": must contain at least one letter (a-z)',
      ],
    ],
    [
      { httpGet: { port: 80, scheme: "FTP" } },
      ['startupProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"'],
    ],
    [
      { httpGet: { port: 80, httpHeaders: [{ name: "a b", value: "" }] } },
      [
        "startupProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      ],
    ],
    [
      { tcpSocket: { port: 70000 } },
      ["startupProbe.tcpSocket.port: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    ],
    [
      { grpc: { port: 0 } },
      ["startupProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive"],
    ],
    [
      { ...tcp, initialDelaySeconds: -1, timeoutSeconds: -2, periodSeconds: -3, failureThreshold: -4 },
      [
        "startupProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0",
        "startupProbe.timeoutSeconds: Invalid value: -2: must be greater than or equal to 0",
        "startupProbe.periodSeconds: Invalid value: -3: must be greater than or equal to 0",
        "startupProbe.failureThreshold: Invalid value: -4: must be greater than or equal to 0",
      ],
    ],
    [
      { ...tcp, successThreshold: -1 },
      [
        "startupProbe.successThreshold: Invalid value: -1: must be greater than or equal to 0",
        "startupProbe.successThreshold: Invalid value: -1: must be 1",
      ],
    ],
    [
      { ...tcp, terminationGracePeriodSeconds: 0 },
      ["startupProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"],
    ],
  ])("950-7 %j", (startupProbe, expected) => {
    const found = sentences(validatePod(makePodWith({ startupProbe })));
    expect(found).toEqual(expected.map((sentence) => `spec.containers[0].${sentence}`));
  });

  test("950-7 rejects probes of init containers that are not sidecars", () => {
    const init: Container = { name: "init", image: "a", startupProbe: { ...tcp }, lifecycle: {} };
    expect(sentences(validatePod(makePod({ initContainers: [init] })))).toEqual([
      "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
      "spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
    ]);
  });
});

describe("lifecycle hooks", () => {
  test.each<[Container["lifecycle"], string[]]>([
    [{ preStop: { sleep: { seconds: 5 } } }, []],
    [{ postStart: { exec: { command: ["a"] } }, preStop: { httpGet: { port: 80 } } }, []],
    [{ preStop: {} }, ["preStop: Required value: must specify a handler type"]],
    [
      { preStop: { sleep: { seconds: 31 } } },
      [
        "preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
      ],
    ],
    [
      { stopSignal: "SIGUSR1" },
      ["stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`"],
    ],
  ])("%j", (lifecycle, expected) => {
    const found = sentences(validatePod(makePodWith({ lifecycle })));
    expect(found).toEqual(expected.map((sentence) => `spec.containers[0].lifecycle.${sentence}`));
  });

  test("stop signals by the operating system", () => {
    const withSignal = (stopSignal: string, name: string) =>
      validatePod(makePodWith({ lifecycle: { stopSignal } }, { os: { name } })).length;
    expect(withSignal("SIGRTMIN+15", "linux")).toBe(0);
    expect(withSignal("SIGRTMAX-14", "linux")).toBe(0);
    expect(withSignal("SIGUSR1", "windows")).toBe(1);
    expect(withSignal("TERM", "linux")).toBe(1);
  });
});
