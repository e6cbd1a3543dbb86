import { describe, expect, test } from "vitest";
import type { Container, Pod, PodSpec } from "../../meta/objects.ts";
import { defaultPullPolicy } from "./container.ts";
import { defaultPod, defaultPodTemplate } from "./pod.ts";

function makePod(spec: Partial<PodSpec> = {}, container: Partial<Container> = {}): Pod {
  const containers = [{ name: "web", image: "nginx", ...container }];
  return { apiVersion: "v1", kind: "Pod", metadata: {}, spec: { containers, ...spec } };
}

function defaulted(spec: Partial<PodSpec> = {}, container: Partial<Container> = {}): PodSpec {
  const pod = makePod(spec, container);
  defaultPod(pod);
  return pod.spec ?? { containers: [] };
}

test("a pod with nothing but a container", () => {
  expect(defaulted()).toEqual({
    containers: [
      {
        name: "web",
        image: "nginx",
        imagePullPolicy: "Always",
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        resources: {},
      },
    ],
    dnsPolicy: "ClusterFirst",
    restartPolicy: "Always",
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    schedulerName: "default-scheduler",
    enableServiceLinks: true,
  });
});

test("defaulting again changes nothing", () => {
  const once = defaulted({ volumes: [{ name: "a" }] }, { livenessProbe: { grpc: { port: 1 } } });
  const pod = makePod();
  pod.spec = structuredClone(once);
  defaultPod(pod);
  expect(pod.spec).toEqual(once);
});

test.each([
  ["nginx", "Always"],
  ["nginx:latest", "Always"],
  ["nginx:1.25", "IfNotPresent"],
  ["example.com:5000/team/app", "Always"],
  ["example.com:5000/team/app:v1", "IfNotPresent"],
  [`nginx@sha256:${"ab".repeat(32)}`, "IfNotPresent"],
  [`nginx:latest@sha256:${"ab".repeat(32)}`, "Always"],
  ["", "IfNotPresent"],
  ["Not A Name", "IfNotPresent"],
])("image %j is pulled %s", (image, policy) => {
  expect(defaultPullPolicy(image)).toBe(policy);
});

describe("resources", () => {
  test("requests default to limits", () => {
    const resources = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } };
    expect(defaulted({}, { resources }).containers[0]?.resources?.requests).toEqual({
      cpu: "500m",
      memory: "1Gi",
    });
  });

  test.each([
    ["1", "1"],
    ["1500m", "1500m"],
    ["1u", "1m"],
    ["1500001u", "1501m"],
    ["1E", "1E"],
    ["1e3", "1e3"],
    ["1.0001", "1001m"],
  ])("%s is kept as %s", (amount, kept) => {
    const resources = { limits: { cpu: amount } };
    expect(defaulted({}, { resources }).containers[0]?.resources?.limits).toEqual({ cpu: kept });
  });
});

test("with hostNetwork, hostPort defaults to containerPort", () => {
  const ports = [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }];
  expect(defaulted({ hostNetwork: true }, { ports }).containers[0]?.ports).toEqual([
    { containerPort: 80, hostPort: 80, protocol: "TCP" },
    { containerPort: 81, hostPort: 81, protocol: "TCP" },
  ]);
});

test("serviceAccount is set from serviceAccountName", () => {
  expect(defaulted({ serviceAccountName: "a" }).serviceAccount).toBe("a");
  expect(defaulted({ serviceAccount: "b" }).serviceAccountName).toBe("b");
});

test("podIP and podIPs are defaulted from each other", () => {
  const pod: Pod = { ...makePod(), status: { podIP: "10.0.0.1" } };
  defaultPod(pod);
  expect(pod.status?.podIPs).toEqual([{ ip: "10.0.0.1" }]);
  const other: Pod = { ...makePod(), status: { podIPs: [{ ip: "10.0.0.2" }] } };
  defaultPod(other);
  expect(other.status?.podIP).toBe("10.0.0.2");
});

test("every volume source has its defaults", () => {
  const volumes: PodSpec["volumes"] = [
    { name: "none" },
    { name: "host", hostPath: { path: "/" } },
    { name: "secret", secret: { secretName: "a" } },
    {
      name: "all",
      projected: {
        sources: [
          { serviceAccountToken: { path: "token" } },
          { downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "metadata.name" } }] } },
        ],
      },
    },
    { name: "image", image: { reference: "data" } },
    { name: "claim", ephemeral: { volumeClaimTemplate: { spec: {} } } },
    { name: "iscsi", iscsi: { iqn: "a", lun: 0, targetPortal: "b" } },
  ];
  expect(defaulted({ volumes }).volumes).toEqual([
    { name: "none", emptyDir: {} },
    { name: "host", hostPath: { path: "/", type: "" } },
    { name: "secret", secret: { secretName: "a", defaultMode: 420 } },
    {
      name: "all",
      projected: {
        sources: [
          { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
          {
            downwardAPI: {
              items: [{ path: "a", fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } }],
            },
          },
        ],
        defaultMode: 420,
      },
    },
    { name: "image", image: { reference: "data", pullPolicy: "Always" } },
    {
      name: "claim",
      ephemeral: { volumeClaimTemplate: { spec: { volumeMode: "Filesystem", resources: {} } } },
    },
    { name: "iscsi", iscsi: { iqn: "a", lun: 0, targetPortal: "b", iscsiInterface: "default" } },
  ]);
});

test("templates get only the defaults of templates", () => {
  const template = {
    spec: { hostNetwork: true, containers: [{ name: "a", image: "b", ports: [{ containerPort: 80 }] }] },
  };
  defaultPodTemplate(template);
  expect(template.spec.containers[0]?.ports).toEqual([{ containerPort: 80, protocol: "TCP" }]);
  expect(template.spec).not.toHaveProperty("enableServiceLinks");
});

test.each<[object, object, object]>([
  [{ limits: { cpu: "1", memory: "1Gi" } }, {}, { cpu: "1", memory: "1Gi" }],
  [
    { limits: { cpu: "4" } },
    { requests: { cpu: "2" }, limits: { memory: "1Gi" } },
    { cpu: "2", memory: "1Gi" },
  ],
  [{ limits: { cpu: "4" }, requests: { cpu: "3" } }, { requests: { cpu: "2" } }, { cpu: "3" }],
])("what a pod as a whole asks for: %j over %j", (pod, container, expected) => {
  expect(defaulted({ resources: pod }, { resources: container }).resources?.requests).toEqual(expected);
});
