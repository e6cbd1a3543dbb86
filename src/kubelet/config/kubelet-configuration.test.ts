import { describe, expect, test } from "vitest";
import { Document } from "yaml";
import { configurationFields } from "./configuration-fields.ts";
import {
  defaultKubeletConfiguration,
  KubeletConfigurationError,
  parseKubeletConfiguration,
} from "./kubelet-configuration.ts";

const header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const parse = (settings: string) => parseKubeletConfiguration(header + settings, "kubelet.yaml");

function problemsOf(settings: string, head = header): string[] {
  try {
    parseKubeletConfiguration(head + settings, "kubelet.yaml");
  } catch (error) {
    if (!(error instanceof KubeletConfigurationError)) throw error;
    return error.problems.map(({ field, message }) => `${field}: ${message}`);
  }
  return [];
}

test("reads every documented field with its documented default", () => {
  const file = new Document({});
  for (const field of configurationFields) {
    if ("default" in field) file.setIn(field.name.split("."), field.default);
  }
  expect(parse(file.toString())).toEqual(defaultKubeletConfiguration);
});

test("has upstream's defaults, except for parallel image pulls", () => {
  expect(defaultKubeletConfiguration).toMatchObject({
    port: 10_250,
    syncFrequencyMs: 60_000,
    nodeStatusUpdateFrequencyMs: 10_000,
    nodeStatusReportFrequencyMs: 300_000,
    containerLogMaxSizeBytes: 10 * 2 ** 20,
    crashLoopBackOff: { maxContainerRestartPeriodMs: 300_000 },
    serializeImagePulls: false,
    featureGates: {},
  });
  expect(defaultKubeletConfiguration).not.toHaveProperty("maxParallelImagePulls");
});

test.each<[string, object]>([
  ["port: 0", { port: 0 }],
  ["syncFrequency: 1m30s", { syncFrequencyMs: 90_000 }],
  ["syncFrequency: 0s", { syncFrequencyMs: 60_000 }],
  ["maxPods: 0", { maxPods: 110 }],
  ["maxPods: null", { maxPods: 110 }],
  ["authentication: {}", { authentication: defaultKubeletConfiguration.authentication }],
  ["authentication: null", { authentication: defaultKubeletConfiguration.authentication }],
  [
    "authentication: { x509: { clientCAFile: /ca.crt }, webhook: { enabled: false } }",
    {
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: false },
        x509: { clientCAFile: "/ca.crt" },
      },
    },
  ],
  ["authorization: { mode: AlwaysAllow }", { authorization: { mode: "AlwaysAllow" } }],
  [
    "nodeStatusUpdateFrequency: 20s",
    { nodeStatusUpdateFrequencyMs: 20_000, nodeStatusReportFrequencyMs: 20_000 },
  ],
  [
    "nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 1m",
    { nodeStatusUpdateFrequencyMs: 20_000, nodeStatusReportFrequencyMs: 60_000 },
  ],
  [
    "nodeStatusUpdateFrequency: 0s\nnodeStatusReportFrequency: 0s",
    { nodeStatusUpdateFrequencyMs: 10_000, nodeStatusReportFrequencyMs: 300_000 },
  ],
  [
    "shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s",
    { shutdownGracePeriodMs: 30_000, shutdownGracePeriodCriticalPodsMs: 10_000 },
  ],
  [
    "serializeImagePulls: true\nmaxParallelImagePulls: 1",
    { serializeImagePulls: true, maxParallelImagePulls: 1 },
  ],
  [
    "registerWithTaints: [{ key: a/b, effect: NoSchedule }, { key: c, value: d, effect: NoExecute }]",
    {
      registerWithTaints: [
        { key: "a/b", effect: "NoSchedule" },
        { key: "c", value: "d", effect: "NoExecute" },
      ],
    },
  ],
  ["cpuCFSQuota: false\nseccompDefault: true", { cpuCFSQuota: false, seccompDefault: true }],
  ["nodeLabels: { zone: 'a' }", { nodeLabels: { zone: "a" } }],
  ["resolvConf: ''", { resolvConf: "" }],
  ["featureGates: { StartupProbe: false }", { featureGates: { StartupProbeEnabled: false } }],
])("%s", (settings, expected) => {
  expect(parse(settings)).toMatchObject(expected);
});

test.each<[string, string | RegExp]>([
  ["prot: 1", "prot: Forbidden: unknown field"],
  ["maxPodz: 1", "maxPodz: Forbidden: unknown field; did you mean maxPods?"],
  [
    "ImagePullProgressType: time",
    "ImagePullProgressType: Forbidden: unknown field; did you mean imagePullProgressType?",
  ],
  [
    "authentication: { x509: { clientCaFile: /x } }",
    "authentication.x509.clientCaFile: Forbidden: unknown field; did you mean authentication.x509.clientCAFile?",
  ],
  ["authentication: 5", "authentication: Invalid value: 5: must be a mapping"],
  ["constructor: 5", "constructor: Forbidden: unknown field"],
  ["__proto__: { port: 1 }", "__proto__: Forbidden: unknown field"],
  ["address: localhost", /^address: Invalid value: "localhost": must be a valid IP address/],
  ["port: 70000", "port: Invalid value: 70000: must be a whole number from 0 to 65535"],
  ["port: '80'", 'port: Invalid value: "80": must be a whole number from 0 to 65535'],
  ["enableServer: 'yes'", 'enableServer: Invalid value: "yes": must be true or false'],
  ["staticPodPath: [a]", 'staticPodPath: Invalid value: ["a"]: must be a string'],
  ["clusterDNS: 10.0.0.10", 'clusterDNS: Invalid value: "10.0.0.10": must be a list of strings'],
  ["clusterDNS: [10.0.0.10, x]", /^clusterDNS\[1\]: Invalid value: "x": must be a valid IP address/],
  [
    "syncFrequency: 60",
    "syncFrequency: Invalid value: 60: must be a duration such as 10s or 1m30s of at least 1ms",
  ],
  ["syncFrequency: -1s", /^syncFrequency: .* of at least 1ms$/],
  ["maxPods: -1", "maxPods: Invalid value: -1: must be a whole number of at least 1"],
  ["maxPods: 1.5", "maxPods: Invalid value: 1.5: must be a whole number of at least 1"],
  [
    "maxParallelImagePulls: 0",
    "maxParallelImagePulls: Invalid value: 0: must be a whole number of at least 1",
  ],
  [
    "serializeImagePulls: true\nmaxParallelImagePulls: 2",
    "maxParallelImagePulls: Invalid value: 2: must be 1 or unset unless serializeImagePulls is false",
  ],
  ["containerLogMaxSize: 0", /^containerLogMaxSize: /],
  ["containerLogMaxSize: ten", /^containerLogMaxSize: .* such as 10Mi/],
  ["containerLogMaxFiles: 1", /^containerLogMaxFiles: .* of at least 2/],
  [
    "cgroupRoot: ../outside",
    'cgroupRoot: Invalid value: "../outside": must be empty or the absolute path of a cgroup, without ..',
  ],
  ["cgroupDriver: none", 'cgroupDriver: Unsupported value: "none": supported values: "cgroupfs", "systemd"'],
  ["authorization: { mode: ABAC }", /^authorization.mode: Unsupported value: "ABAC"/],
  ["tlsCertFile: /c.pem", "tlsPrivateKeyFile: Required value: tlsCertFile requires a private key"],
  ["tlsPrivateKeyFile: /k.pem", "tlsCertFile: Required value: tlsPrivateKeyFile requires a certificate"],
  [
    "crashLoopBackOff: { maxContainerRestartPeriod: 301s }",
    'crashLoopBackOff.maxContainerRestartPeriod: Invalid value: "301s": must be a duration such as 10s or 1m30s from 1s to 5m0s',
  ],
  ["shutdownGracePeriod: 500ms", 'shutdownGracePeriod: Invalid value: "500ms": must be 0s or at least 1s'],
  ["shutdownGracePeriodCriticalPods: 1s", /^shutdownGracePeriodCriticalPods: .* part of$/],
  [
    "registerWithTaints: [{ key: a }]",
    /^registerWithTaints\[0\]: Invalid value: .* must have a key, an effect/,
  ],
  [
    "registerWithTaints: [{ key: a, effect: No }]",
    /^registerWithTaints\[0\].effect: Unsupported value: "No"/,
  ],
  ["registerWithTaints: { key: a }", /^registerWithTaints: .* must be a list of taints/],
  ["nodeLabels: { a: 1 }", "nodeLabels.a: Invalid value: 1: must be a string; put it in quotes"],
  ["featureGates: { Nope: true }", /^featureGates.Nope: Unsupported value: "Nope": supported values: /],
  [
    "featureGates: { ImagePullProgress: 'on' }",
    'featureGates.ImagePullProgress: Invalid value: "on": must be true or false',
  ],
])("refuses %s", (settings, problem) => {
  const problems = problemsOf(settings);
  expect(problems).toEqual([typeof problem === "string" ? problem : expect.stringMatching(problem)]);
});

test("reports all problems in one message with the file name", () => {
  expect(problemsOf("port: -1\nmaxPods: x\nimagePullProgressInterval: 5")).toHaveLength(3);
  expect(() => parse("port: -1\nmaxPods: x")).toThrow(
    /^kubelet\.yaml is not .*\n {2}port: .*\n {2}maxPods: /,
  );
});

test.each([
  ["", /must be a YAML mapping/],
  ["- a", /must be a YAML mapping/],
  ["a: [", /Flow sequence|flow/i],
  ["a: 1\na: 2", /unique/],
  ["kind: KubeletConfiguration", /^apiVersion: Unsupported value: null/],
  ["apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Pod", /^kind: Unsupported value: "Pod"/],
])("a file that is no kubelet configuration: %j", (text, problem) => {
  expect(problemsOf("", text).join("\n")).toMatch(problem);
});

test("limits the expansion of YAML aliases", () => {
  const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"];
  for (let i = 98; i < 108; i++) {
    const [name, before] = [String.fromCharCode(i), String.fromCharCode(i - 1)];
    bomb.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(", ")}]`);
  }
  expect(problemsOf(`${bomb.join("\n")}\n`).join("\n")).toMatch(/alias/i);
});

describe("image pull progress", () => {
  test("3542-5 the proposal's defaults", () => {
    expect(defaultKubeletConfiguration).toMatchObject({
      imagePullProgress: { kind: "time", intervalMs: 30_000 },
      noProgressTimeoutSeconds: 10,
    });
  });

  test.each<[string, object]>([
    ["imagePullProgressInterval: 10", { imagePullProgress: { kind: "time", intervalMs: 10_000 } }],
    ["imagePullProgressInterval: '45'", { imagePullProgress: { kind: "time", intervalMs: 45_000 } }],
    ["imagePullProgressType: size", { imagePullProgress: { kind: "size", intervalBytes: 2 ** 30 } }],
    [
      "imagePullProgressType: size\nimagePullProgressInterval: 1.5Gi",
      { imagePullProgress: { kind: "size", intervalBytes: 1.5 * 2 ** 30 } },
    ],
    ["imagePullProgressType: none", { imagePullProgress: { kind: "none" } }],
    ["imagePullProgressType: none\nimagePullProgressInterval: 1", { imagePullProgress: { kind: "none" } }],
    ["noProgressTimeout: 0", { noProgressTimeoutSeconds: 0 }],
    ["noProgressTimeout: 4294967295", { noProgressTimeoutSeconds: 4_294_967_295 }],
  ])("3542-5 %s", (settings, expected) => {
    expect(parse(settings)).toMatchObject(expected);
  });

  const interval = "imagePullProgressInterval: Invalid value:";
  test.each([
    [
      "imagePullProgressInterval: 9",
      `${interval} 9: must be at least 10 seconds where imagePullProgressType is time`,
    ],
    ["imagePullProgressInterval: 30s", `${interval} "30s": must be a number of seconds such as 30`],
    ["imagePullProgressInterval: 10500m", `${interval} "10500m": must be a number of seconds such as 30`],
    [
      "imagePullProgressInterval: -30",
      `${interval} -30: must be at least 10 seconds where imagePullProgressType is time`,
    ],
    [
      "imagePullProgressType: size\nimagePullProgressInterval: 1023Mi",
      `${interval} "1023Mi": must be at least 1Gi where imagePullProgressType is size`,
    ],
    [
      "imagePullProgressType: size\nimagePullProgressInterval: 30",
      `${interval} 30: must be at least 1Gi where imagePullProgressType is size`,
    ],
    [
      "imagePullProgressType: size\nimagePullProgressInterval: lots",
      `${interval} "lots": must be an amount of bytes such as 1Gi`,
    ],
    [
      "imagePullProgressType: none\nimagePullProgressInterval: lots",
      `${interval} "lots": must be a number of seconds or an amount of bytes`,
    ],
    ...["1Gi", "30k", "1E"].map((value) => [
      `imagePullProgressInterval: ${value}`,
      `${interval} "${value}": must be a number of seconds such as 30 where imagePullProgressType is time; an amount of bytes needs imagePullProgressType: size`,
    ]),
    ["imagePullProgressType: size\nimagePullProgressInterval: 1E", `${interval} "1E": is too large`],
    ["imagePullProgressInterval: '9007199254740992'", `${interval} "9007199254740992": is too large`],
    [
      "imagePullProgressType: percent",
      'imagePullProgressType: Unsupported value: "percent": supported values: "none", "size", "time"',
    ],
    [
      "noProgressTimeout: -1",
      "noProgressTimeout: Invalid value: -1: must be a whole number from 0 to 4294967295",
    ],
    [
      "noProgressTimeout: 10s",
      'noProgressTimeout: Invalid value: "10s": must be a whole number from 0 to 4294967295',
    ],
    [
      "noProgressTimeout: 4294967296",
      "noProgressTimeout: Invalid value: 4294967296: must be a whole number from 0 to 4294967295",
    ],
  ])("3542-5 refuses %s", (settings, problem) => {
    expect(problemsOf(settings)).toEqual([problem]);
  });
});
