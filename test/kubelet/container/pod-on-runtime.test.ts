import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Container, Pod, PodSpec } from "../../../src/api/meta/objects.ts";
import { defaultPod } from "../../../src/api/pod/defaults/pod.ts";
import { defaultCpuSettings } from "../../../src/kubelet/cgroups/linux-resources.ts";
import { createImageUserReader } from "../../../src/kubelet/containers/container-security.ts";
import { inspectPod, listByPod } from "../../../src/kubelet/containers/inspect-pod.ts";
import { type ContainerDeps, prepareContainer } from "../../../src/kubelet/containers/prepare-container.ts";
import { prepareSandbox, type SandboxDeps } from "../../../src/kubelet/containers/prepare-sandbox.ts";
import { readMachineFacts } from "../../../src/kubelet/containers/read-machine-facts.ts";
import { execIn, untilExited } from "../../support/cri/cri-pod.ts";
import { busyboxImage, type CriRuntime, startCriRuntime } from "../../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { makePod, userPod } from "../../support/manifests/pod.ts";
import { describeWithTool } from "../../support/programs/tools.ts";

// A pod's spec, all the way to a container on a real socket and back to what the kubelet sees of it.
describeWithTool("busybox", "a pod on our runtime", () => {
  describeWithTool("conmon", "with the driver oci", () => suite("oci", "/dev/termination-log"));
  describe("with the driver host", () => suite("host", "/dev/termination-log"));
});

function suite(driver: "oci" | "host", terminationMessagePath: string): void {
  const folder = temporaryFolder();
  let runtime: CriRuntime;
  let deps: ContainerDeps & SandboxDeps;

  beforeAll(async () => {
    runtime = await startCriRuntime({ driver });
    const machine = await readMachineFacts();
    await mkdir(join(folder, "volume"));
    await writeFile(join(folder, "volume/greeting"), "from a volume");
    await writeFile(join(folder, "resolv.conf"), "nameserver 192.0.2.53\n");
    deps = {
      sources: {
        getConfigMap: async () => undefined,
        getSecret: async (_, name) => ({
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name },
          data: { KEY: Buffer.from("s3cret").toString("base64") },
        }),
        getService: async () => undefined,
        listServices: async () => [],
      },
      imageUser: createImageUserReader(runtime.client),
      volumes: { resolveSubPath: async (volume, subPath) => join(volume.hostPath, subPath) },
      recorder: { record() {} },
      node: () => ({ memoryBytes: 8e9, allocatable: { cpu: "2" }, hostIps: ["192.0.2.1"], machine }),
      recursiveReadOnly: () => false,
      dataDirectory: join(folder, "kubelet"),
      logsDirectory: join(folder, "logs"),
      clusterDns: async () => ["192.0.2.10"],
      clusterDomain: "cluster.local",
      resolvConf: join(folder, "resolv.conf"),
      cgroupParent: async () => "",
      sandboxMark: async () => ({}),
      cpu: defaultCpuSettings,
      seccompDefault: false,
    };
  });
  afterAll(() => runtime?.stop());

  async function run(name: string, container: Partial<Container>, spec: Partial<PodSpec> = {}) {
    const pod = makePod(name, {
      ...userPod,
      metadata: { namespace: "shop", uid: `uid-${process.pid}-${name}` },
      container: { image: busyboxImage, terminationMessagePath, ...container },
      ...spec,
    });
    defaultPod(pod);
    const [made] = pod.spec?.containers ?? [];
    if (!made) throw new Error("the pod has a container");
    const cri = runtime.client.runtime;
    const { config: sandboxConfig } = await prepareSandbox(deps, { pod, attempt: 0 });
    const { podSandboxId } = await cri.runPodSandbox({ config: sandboxConfig, runtimeHandler: "" });
    const podIps = (await observe(pod))?.sandboxes[0]?.ips ?? [];
    const config = await prepareContainer(deps, {
      pod,
      container: made,
      attempt: 0,
      restartDelayMs: 0,
      imageRef: busyboxImage,
      podIps,
      volumes: new Map([["v", { hostPath: join(folder, "volume"), readOnly: true }]]),
      signal: new AbortController().signal,
    });
    const { containerId } = await cri.createContainer({ podSandboxId, config, sandboxConfig });
    await cri.startContainer({ containerId });
    return { pod, podIps, containerId };
  }

  async function observe(pod: Pod) {
    const cri = runtime.client.runtime;
    const [sandboxes, containers] = await Promise.all([
      cri.listPodSandbox({ filter: undefined }),
      cri.listContainers({ filter: undefined }),
    ]);
    const listing = listByPod(sandboxes.items, containers.containers).get(pod.metadata.uid ?? "");
    return listing && inspectPod({ cri: runtime.client, dataDirectory: deps.dataDirectory }, listing);
  }

  test("has the names, files, environment and user of its spec", async () => {
    const { podIps, containerId, pod } = await run(
      "asked",
      {
        command: ["sh", "-c", "sleep $(SECONDS)"],
        env: [
          { name: "SECONDS", value: "1000" },
          { name: "SECRET", valueFrom: { secretKeyRef: { name: "keys", key: "KEY" } } },
          { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        ],
        volumeMounts: [{ name: "v", mountPath: "/data" }],
        resources: { limits: { memory: "64Mi" } },
        securityContext: { runAsUser: 101, runAsNonRoot: true },
      },
      { hostname: "db", subdomain: "set", hostAliases: [{ ip: "192.0.2.7", hostnames: ["alias.example"] }] },
    );
    const says = async (script: string) => (await execIn(runtime.client, containerId, script)).stdout;
    expect(await says("hostname; id -u; echo $SECRET $IP; cat /data/greeting")).toBe(
      `db\n101\ns3cret ${podIps[0]}\nfrom a volume`,
    );
    const hosts = await says("cat /etc/hosts");
    expect(hosts).toContain(`${podIps[0]}\tdb.set.shop.svc.cluster.local\tdb\n`);
    expect(hosts).toContain("192.0.2.7\talias.example\n");
    expect(await says("cat /etc/resolv.conf")).toContain("nameserver 192.0.2.10");
    expect(await says("touch /data/x || echo refused")).toContain("refused");
    expect(await observe(pod)).toMatchObject({
      name: "asked",
      containers: [
        { id: containerId, name: "c", attempt: 0, state: { kind: "running" }, user: { uid: 101 } },
      ],
    });
  });

  test.each([
    ["file", `echo last words > ${terminationMessagePath}; exit 3`, "File", "last words\n"],
    // The order of lines between two streams is undefined.
    [
      "log",
      "echo said; echo cried >&2; exit 3",
      "FallbackToLogsOnError",
      expect.stringMatching(/^(said\ncried|cried\nsaid)\n$/),
    ],
  ])("leaves its last words in its %s", async (name, script, terminationMessagePolicy, message) => {
    const { pod, containerId } = await run(name, {
      command: ["sh", "-c", script],
      terminationMessagePolicy,
      securityContext: { runAsUser: 101 },
    });
    await untilExited(runtime.client, containerId);
    expect((await observe(pod))?.containers[0]?.state).toMatchObject({
      kind: "exited",
      exitCode: 3,
      message,
    });
  });
}
