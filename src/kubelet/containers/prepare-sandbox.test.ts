import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PodSpec } from "../../api/meta/objects.ts";
import {
  NamespaceMode,
  PodSandboxConfig,
  Protocol,
  SupplementalGroupsPolicy,
} from "../../cri/generated/cri.ts";
import { defaultCpuSettings as cpu, defaultCpuSettings } from "../cgroups/linux-resources.ts";
import type { MachineFacts } from "../model/node-facts.ts";
import { makePod } from "./make-pod.fixture.ts";
import {
  buildSandboxConfig,
  prepareSandbox,
  type SandboxDeps,
  type SandboxRequest,
} from "./prepare-sandbox.ts";

describe("prepare-sandbox", () => {
  let root: string;
  let deps: SandboxDeps;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "sandbox-"));
    await writeFile(join(root, "resolv.conf"), "nameserver 192.0.2.53\nsearch example.org\n");
    deps = {
      node: () => ({
        memoryBytes: 8e9,
        allocatable: {},
        hostIps: ["192.0.2.1"],
        machine: {
          cgroupVersion: 1,
          limitsSwap: false,
          selinux: false,
          hugePageSizes: [],
          thermalPaths: [],
        },
      }),
      logsDirectory: join(root, "logs"),
      clusterDns: async () => ["10.96.0.10"],
      clusterDomain: "cluster.local",
      resolvConf: join(root, "resolv.conf"),
      cgroupParent: async () => "/kubepods/podu-1",
      sandboxMark: async () => ({ "kindling.dev/node-name": "n" }),
      cpu: defaultCpuSettings,
    };
  });

  // A failed preparation may still be creating the log directory.
  afterEach(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));

  test("makes the log directory and reads the node's resolver", async () => {
    const { config, warnings } = await prepareSandbox(deps, { pod: makePod(), attempt: 1 });
    expect(config.metadata?.attempt).toBe(1);
    expect(config.linux?.cgroupParent).toBe("/kubepods/podu-1");
    expect(config.annotations).toMatchObject({ "kindling.dev/node-name": "n" });
    expect(config.dnsConfig).toEqual({
      servers: ["10.96.0.10"],
      searches: ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.org"],
      options: ["ndots:5"],
    });
    expect((await stat(config.logDirectory)).isDirectory()).toBe(true);
    expect(warnings).toEqual([]);
  });

  test("reports that the cluster has no DNS server", async () => {
    const { warnings } = await prepareSandbox(
      { ...deps, clusterDns: async () => [] },
      { pod: makePod(), attempt: 0 },
    );
    expect(warnings.map(({ reason }) => reason)).toEqual(["MissingClusterDNS"]);
  });

  test.each([
    ["the resolver's file is gone", { resolvConf: "/nowhere/resolv.conf" }, {}, "ENOENT"],
    ["the name is too long", {}, { subdomain: "s".repeat(50), setHostnameAsFQDN: true }, "is too long"],
  ])("fails when %s", async (_, changed, spec, message) => {
    const failed = prepareSandbox({ ...deps, ...changed }, { pod: makePod(spec), attempt: 0 });
    await expect(failed).rejects.toMatchObject({
      reason: "FailedCreatePodSandBox",
      message: expect.stringContaining(message),
    });
  });
});

describe("sandbox-config", () => {
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
      mark: {},
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
    test("the kubelet's annotations replace those of the pod", () => {
      const mark = { "kindling.dev/node-name": "n1", "kindling.dev/kubelet-id": "k1" };
      const annotations = { note: "y", "kindling.dev/node-name": "n2", "kindling.dev/cluster-uid": "c2" };
      const config = build({}, { pod: makePod({}, { annotations }), mark });
      expect(config.annotations).toEqual({ note: "y", ...mark });
    });

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
        namespaceOptions: {
          network: NamespaceMode.POD,
          ipc: NamespaceMode.POD,
          pid: NamespaceMode.CONTAINER,
        },
        privileged: false,
        seccomp: { profileType: 0 },
        supplementalGroups: [],
      });
      expect(PodSandboxConfig.decode(PodSandboxConfig.encode(config).finish())).toEqual(config);
    });

    test("hostname: fully qualified if requested, empty with hostNetwork", () => {
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

    test("is privileged if any container is", () => {
      const containers = [{ name: "c", securityContext: { privileged: true } }];
      expect(security({ containers })?.privileged).toBe(true);
      expect(security({ containers: [{ name: "c" }], initContainers: containers })?.privileged).toBe(true);
    });

    test("ports without duplicates", () => {
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

    test("sets the cgroup parent if the kubelet gives one", () => {
      const cgroupParent = "/kubepods/besteffort/podu-1";
      expect(build({}, { cgroupParent }).linux?.cgroupParent).toBe(cgroupParent);
    });

    test.each([
      [{ hostUsers: false }, "spec.hostUsers: this node does not support user namespaces for pods"],
      [{ securityContext: { supplementalGroupsPolicy: "Odd" } }, "unsupported supplementalGroupsPolicy: Odd"],
    ])("%j is refused", (spec, message) => {
      expect(() => build(spec)).toThrow(message);
    });
  });
});
