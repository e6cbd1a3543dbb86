import { describe, expect, test } from "vitest";
import type { PodSpec } from "../../api/objects.ts";
import {
  NamespaceMode,
  PodSandboxConfig,
  Protocol,
  SupplementalGroupsPolicy,
} from "../../cri/generated/cri.ts";
import { defaultCpuSettings as cpu } from "./linux-resources.ts";
import { makePod } from "./make-pod.fixture.ts";
import type { MachineFacts } from "./node-facts.ts";
import { buildSandboxConfig, type SandboxRequest } from "./sandbox-config.ts";

const machine: MachineFacts = {
  cgroupVersion: 1,
  limitsSwap: false,
  selinux: false,
  hugePageSizes: [],
  thermalPaths: [],
};

function build(spec: Partial<PodSpec> = {}, rest: Partial<SandboxRequest> = {}) {
  return buildSandboxConfig({
    pod: makePod(spec, { labels: { app: "x" }, annotations: { note: "y" } }),
    attempt: 2,
    logDirectory: "/logs/shop_web_u-1",
    dns: { servers: ["10.96.0.10"], searches: [], options: [] },
    clusterDomain: "cluster.local",
    cgroupParent: "",
    machine,
    cpu,
    ...rest,
  });
}

const security = (spec: Partial<PodSpec>) => build(spec).linux?.securityContext;

describe("buildSandboxConfig", () => {
  test("a plain pod", () => {
    const config = build();
    expect(config).toMatchObject({
      metadata: { name: "web", namespace: "shop", uid: "u-1", attempt: 2 },
      hostname: "web",
      logDirectory: "/logs/shop_web_u-1",
      dnsConfig: { servers: ["10.96.0.10"] },
      portMappings: [],
      labels: { app: "x", "io.kubernetes.pod.uid": "u-1" },
      annotations: { note: "y" },
      linux: { cgroupParent: "", sysctls: {}, overhead: { cpuShares: 0n }, resources: { cpuShares: 2n } },
    });
    expect(config.linux?.securityContext).toMatchObject({
      namespaceOptions: { network: NamespaceMode.POD, ipc: NamespaceMode.POD, pid: NamespaceMode.CONTAINER },
      privileged: false,
      seccomp: { profileType: 0 },
      supplementalGroups: [],
    });
    expect(PodSandboxConfig.decode(PodSandboxConfig.encode(config).finish())).toEqual(config);
  });

  test("the host's name: in full where the pod asks for it, none on the host's network", () => {
    expect(build({ hostname: "db", subdomain: "s", setHostnameAsFQDN: true }).hostname).toBe(
      "db.s.shop.svc.cluster.local",
    );
    expect(build({ hostNetwork: true }).hostname).toBe("");
  });

  test.each([
    [{ hostNetwork: true }, { network: NamespaceMode.NODE }],
    [{ hostIPC: true }, { ipc: NamespaceMode.NODE }],
    [{ hostPID: true, shareProcessNamespace: true }, { pid: NamespaceMode.NODE }],
    [{ shareProcessNamespace: true }, { pid: NamespaceMode.POD }],
  ])("%j", (spec, namespaces) => {
    expect(security(spec)?.namespaceOptions).toMatchObject(namespaces);
  });

  test("security of the pod", () => {
    const securityContext = {
      runAsUser: 1_000,
      runAsGroup: 2_000,
      fsGroup: 3_000,
      supplementalGroups: [4_000, 5_000],
      supplementalGroupsPolicy: "Strict",
      seLinuxOptions: { level: "s0:c1,c2" },
      sysctls: [{ name: "net.core.somaxconn", value: "1024" }],
    };
    expect(security({ securityContext })).toMatchObject({
      runAsUser: { value: 1_000n },
      runAsGroup: { value: 2_000n },
      supplementalGroups: [3_000n, 4_000n, 5_000n],
      supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict,
      selinuxOptions: { user: "", role: "", type: "", level: "s0:c1,c2" },
    });
    expect(build({ securityContext }).linux?.sysctls).toEqual({ "net.core.somaxconn": "1024" });
  });

  test("is privileged as soon as one container is", () => {
    const containers = [{ name: "c", securityContext: { privileged: true } }];
    expect(security({ containers })?.privileged).toBe(true);
    expect(security({ containers: [{ name: "c" }], initContainers: containers })?.privileged).toBe(true);
  });

  test("ports, each once", () => {
    const ports = [
      { containerPort: 80, hostPort: 8_080, hostIP: "127.0.0.1" },
      { containerPort: 80, hostPort: 8_080, hostIP: "127.0.0.1" },
      { containerPort: 80, hostPort: 8_080, hostIP: "::1" },
      { containerPort: 53, name: "dns", protocol: "UDP" },
      { containerPort: 54, name: "dns", protocol: "UDP" },
    ];
    expect(build({ containers: [{ name: "c", ports }] }).portMappings).toEqual([
      { containerPort: 80, hostPort: 8_080, hostIp: "127.0.0.1", protocol: Protocol.TCP },
      { containerPort: 80, hostPort: 8_080, hostIp: "::1", protocol: Protocol.TCP },
      { containerPort: 53, hostPort: 0, hostIp: "", protocol: Protocol.UDP },
    ]);
  });

  test("a cgroup where the kubelet names it", () => {
    const cgroupParent = "/kubepods/besteffort/podu-1";
    expect(build({}, { cgroupParent }).linux?.cgroupParent).toBe(cgroupParent);
  });

  test.each([
    [{ hostUsers: false }, "spec.hostUsers: this node has no user namespaces for pods"],
    [{ securityContext: { supplementalGroupsPolicy: "Odd" } }, "unsupported supplementalGroupsPolicy: Odd"],
  ])("%j is refused", (spec, message) => {
    expect(() => build(spec)).toThrow(message);
  });
});
