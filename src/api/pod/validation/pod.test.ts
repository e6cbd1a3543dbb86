import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../../test/support/time/cpu-time.ts";
import { FieldErrors } from "../../meta/field-errors.ts";
import type { Container, PodSpec } from "../../meta/objects.ts";
import { makePod, makePodWith, sentences } from "../pod.fixture.ts";
import { validatePod, validatePodTemplate } from "./pod.ts";

const container: Container = { name: "web", image: "nginx:1.25" };

describe("valid pods", () => {
  test.each<[string, Partial<PodSpec>]>([
    ["the smallest", {}],
    [
      "init container, sidecar and two main ones",
      {
        initContainers: [
          { name: "init", image: "a" },
          { name: "side", image: "b", restartPolicy: "Always", readinessProbe: { tcpSocket: { port: 1 } } },
        ],
        containers: [container, { name: "other", image: "c", restartPolicy: "OnFailure" }],
      },
    ],
    [
      "on the host's network",
      {
        hostNetwork: true,
        dnsPolicy: "ClusterFirstWithHostNet",
        containers: [{ ...container, ports: [{ containerPort: 80 }] }],
      },
    ],
    ["gated", { schedulingGates: [{ name: "example.com/wait" }] }],
    [
      "with names for everything",
      {
        hostname: "a",
        subdomain: "b",
        serviceAccountName: "robot",
        nodeName: "node-1.example.com",
        priorityClassName: "system-node-critical",
        runtimeClassName: "gvisor",
        schedulerName: "default-scheduler",
        activeDeadlineSeconds: 1,
        nodeSelector: { "kubernetes.io/os": "linux" },
        imagePullSecrets: [{ name: "regcred" }],
        readinessGates: [{ conditionType: "example.com/ready" }],
        preemptionPolicy: "Never",
        overhead: { cpu: "10m" },
      },
    ],
    ["for windows", { os: { name: "windows" } }],
    ["with its own users", { hostUsers: false }],
    ["with its own resources", { resources: { requests: { cpu: "1" }, limits: { memory: "1Gi" } } }],
  ])("%s", (_, spec) => {
    expect(sentences(validatePod(makePod(spec)))).toEqual([]);
  });
});

describe("rules of a pod's spec", () => {
  test.each<[Partial<PodSpec>, string[]]>([
    [{ containers: [] }, ["spec.containers: Required value"]],
    [{ containers: [container, container] }, ['spec.containers[1].name: Duplicate value: "web"']],
    [{ initContainers: [container] }, ['spec.initContainers[0].name: Duplicate value: "web"']],
    [
      { ephemeralContainers: [{ name: "debug", image: "a" }] },
      ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
    ],
    [
      { restartPolicy: "Sometimes" },
      [
        'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
      ],
    ],
    [
      { nodeName: "n", schedulingGates: [{ name: "wait" }] },
      ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ],
    [{ schedulingGates: [{ name: "a" }, { name: "a" }] }, ['spec.schedulingGates[1]: Duplicate value: "a"']],
    [{ terminationGracePeriodSeconds: -5 }, []],
    [
      { activeDeadlineSeconds: 0 },
      ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    ],
    [{ hostname: "a.b" }, ['spec.hostname: Invalid value: "a.b": must not contain dots']],
    [
      { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80, hostPort: 81 }] }] },
      [
        "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
      ],
    ],
    [
      { hostUsers: false, hostPID: true, hostIPC: true },
      [
        "spec.HostPID: Forbidden: when `hostUsers` is false",
        "spec.HostIPC: Forbidden: when `hostUsers` is false",
      ],
    ],
    [
      { hostPID: true, shareProcessNamespace: true },
      [
        "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
      ],
    ],
    [
      { os: { name: "plan9" } },
      ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
    ],
    [
      { os: { name: "windows" }, hostPID: true, securityContext: { fsGroup: 1 } },
      [
        "spec.hostPID: Forbidden: cannot be set for a windows pod",
        "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
      ],
    ],
    [
      { preemptionPolicy: "Maybe" },
      [
        'spec.preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"',
      ],
    ],
    [
      { hostnameOverride: "a", setHostnameAsFQDN: true, hostNetwork: true },
      [
        "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
        "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
      ],
    ],
    [
      { resourceClaims: [{ name: "gpu" }] },
      [
        'spec.resourceClaims[0]: Invalid value: {"name":"gpu"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      ],
    ],
    [
      {
        resources: { requests: { cpu: "1" } },
        containers: [{ ...container, resources: { requests: { cpu: "2" } } }],
      },
      [
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
      ],
    ],
  ])("%j", (spec, expected) => {
    expect(sentences(validatePod(makePod(spec)))).toEqual(expected);
  });
});

describe("rules of a container", () => {
  test.each<[Partial<Container>, string[]]>([
    [{ name: "" }, ["name: Required value"]],
    [{ image: "" }, ["image: Required value"]],
    [{ image: " a" }, ['image: Invalid value: " a": must not have leading or trailing whitespace']],
    [
      { imagePullPolicy: "Often" },
      ['imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"'],
    ],
    [
      { terminationMessagePolicy: "Log" },
      [
        'terminationMessagePolicy: Unsupported value: "Log": supported values: "File", "FallbackToLogsOnError"',
      ],
    ],
    [
      { ports: [{ containerPort: 0 }, { containerPort: 70000, name: "UP", protocol: "ICMP" }] },
      [
        "ports[0].containerPort: Required value",
        'ports[1].name: Invalid value: "UP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'ports[1].name: Invalid value: "UP": must contain at least one letter (a-z)',
        "ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        'ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      ],
    ],
    [
      {
        ports: [
          { containerPort: 1, name: "a" },
          { containerPort: 2, name: "a" },
        ],
      },
      ['ports[1].name: Duplicate value: "a"'],
    ],
    [
      {
        ports: [
          { containerPort: 1, hostPort: 9 },
          { containerPort: 2, hostPort: 9 },
        ],
      },
      ['ports[1].hostPort: Duplicate value: "TCP//9"'],
    ],
    [
      { restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [1] } }] },
      ["restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
    ],
    [
      { resizePolicy: [{ resourceName: "disk", restartPolicy: "NotRequired" }] },
      ['resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"'],
    ],
  ])("%j", (change, expected) => {
    const found = sentences(validatePod(makePodWith(change)));
    expect(found).toEqual(expected.map((sentence) => `spec.containers[0].${sentence}`));
  });
});

describe("annotations with a meaning", () => {
  test.each<[Record<string, string>, string[]]>([
    [{ "controller.kubernetes.io/pod-deletion-cost": "-10" }, []],
    [
      { "controller.kubernetes.io/pod-deletion-cost": "+1" },
      ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer'],
    ],
    [
      { "kubernetes.io/config.mirror": "x" },
      [
        '[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
      ],
    ],
    [
      { "seccomp.security.alpha.kubernetes.io/pod": "strict" },
      ['.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "strict": must be a valid seccomp profile'],
    ],
    [
      { "container.apparmor.security.beta.kubernetes.io/missing": "runtime/default" },
      [
        '[container.apparmor.security.beta.kubernetes.io/missing]: Invalid value: "missing": container not found',
      ],
    ],
  ])("%j", (annotations, expected) => {
    const pod = makePod();
    pod.metadata.annotations = annotations;
    const found = sentences(validatePod(pod));
    expect(found).toEqual(expected.map((sentence) => `metadata.annotations${sentence}`));
  });

  test("annotation and field must agree", () => {
    const pod = makePodWith({ securityContext: { seccompProfile: { type: "Unconfined" } } });
    pod.metadata.annotations = { "container.seccomp.security.alpha.kubernetes.io/web": "runtime/default" };
    expect(sentences(validatePod(pod))).toEqual([
      "spec.containers[0].securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
    ]);
  });
});

test("a projected token requires a service account", () => {
  const sources = [{ serviceAccountToken: { path: "token" } }];
  const pod = makePod({ volumes: [{ name: "token", projected: { sources } }] });
  expect(sentences(validatePod(pod))).toEqual([
    "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
  ]);
});

test("errors of a template have its path, and its images may be empty", () => {
  const at = new FieldErrors("spec.template");
  const { spec } = makePodWith({ image: " a", ports: [{ containerPort: 0 }] });
  validatePodTemplate({ metadata: { labels: { app: "web" } }, spec }, at);
  expect(sentences(at.errors)).toEqual([
    "spec.template.spec.containers[0].ports[0].containerPort: Required value",
  ]);
});

test("validates a hostile pod quickly", () => {
  const many = Array.from({ length: 5_000 }, (_, i) => i);
  const started = cpuTimeMs();
  validatePod(
    makePod({
      containers: many.map(() => ({ name: "x".repeat(500), image: "", ports: [{ containerPort: -1 }] })),
      tolerations: many.map(() => ({ key: "a/b/c" })),
      volumes: many.map(() => ({ name: "-".repeat(200) })),
      topologySpreadConstraints: many.map(() => ({ maxSkew: 0, topologyKey: "", whenUnsatisfiable: "" })),
    }),
  );
  expect(cpuTimeMs() - started).toBeLessThan(3_000);
});
