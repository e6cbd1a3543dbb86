import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status as grpcStatus } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Container, PodSpec } from "../../api/meta/objects.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import { ContainerConfig, LinuxContainerConfig, Mount, Signal } from "../../cri/generated/cri.ts";
import { defaultCpuSettings } from "../cgroups/linux-resources.ts";
import { makePodWith } from "./make-pod.fixture.ts";
import {
  buildContainerConfig,
  type ContainerDeps,
  type PrepareRequest,
  prepareContainer,
} from "./prepare-container.ts";

describe("prepare-container", () => {
  let root: string;
  let events: EventToRecord[];
  let deps: ContainerDeps;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "container-"));
    events = [];
    await mkdir(join(root, "volume"));
    deps = {
      sources: {
        getConfigMap: async (_, name) =>
          name === "odd"
            ? { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { "a=b": "1" } }
            : undefined,
        getSecret: async () => undefined,
        getService: async () => undefined,
        listServices: async () => [],
      },
      imageUser: async () => ({ uid: 101 }),
      volumes: { resolveSubPath: async (volume, subPath, uid) => join(volume.hostPath, uid, subPath) },
      recorder: { record: (_, event) => void events.push(event) },
      node: () => ({
        memoryBytes: 8e9,
        allocatable: {},
        hostIps: ["192.0.2.1"],
        machine: { cgroupVersion: 1, limitsSwap: false, selinux: false, hugePageSizes: [], thermalPaths: [] },
      }),
      recursiveReadOnly: () => false,
      dataDirectory: join(root, "data"),
      logsDirectory: join(root, "logs"),
      clusterDomain: "cluster.local",
      cpu: defaultCpuSettings,
      seccompDefault: false,
    };
  });

  afterEach(() => rm(root, { recursive: true, force: true }));

  function prepare(
    container: Partial<Container> = {},
    { spec = {}, ...rest }: Partial<PrepareRequest> & { spec?: Partial<PodSpec> } = {},
  ) {
    return prepareContainer(deps, {
      ...makePodWith(container, spec),
      attempt: 1,
      restartDelayMs: 0,
      imageRef: "sha256:1",
      podIps: ["10.0.0.2"],
      volumes: new Map([["v", { hostPath: join(root, "volume"), readOnly: false }]]),
      signal: new AbortController().signal,
      ...rest,
    });
  }

  describe("prepareContainer", () => {
    test("combines environment, mounts and files", async () => {
      await writeFile(join(root, "volume/env"), "KEY='filed'\n");
      const config = await prepare({
        args: ["$(IP) $(FILE)"],
        env: [
          { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
          { name: "FILE", valueFrom: { fileKeyRef: { volumeName: "v", path: "env", key: "KEY" } } },
        ],
        volumeMounts: [{ name: "v", mountPath: "/data", subPath: "sub" }],
      });
      expect(config.args).toEqual(["10.0.0.2 filed"]);
      expect(config.linux?.securityContext?.runAsUser).toEqual({ value: 101n });
      expect(config.linux?.resources?.oomScoreAdj).toBe(1_000n);

      const [volume, hosts, message] = config.mounts;
      expect(config.mounts.map(({ containerPath }) => containerPath)).toEqual([
        "/data",
        "/etc/hosts",
        "/dev/termination-log",
      ]);
      expect(volume?.hostPath).toBe(join(root, "volume/u-1/sub"));
      expect(await readFile(hosts?.hostPath ?? "", "utf8")).toContain("10.0.0.2\tweb\n");
      expect(message?.hostPath.startsWith(join(root, "data/pods/u-1/containers/c/"))).toBe(true);
      expect((await stat(join(root, "logs/shop_web_u-1/c"))).isDirectory()).toBe(true);
    });

    test("with hostNetwork the address and the hosts file are the node's", async () => {
      const env = [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }];
      const config = await prepare({ env }, { spec: { hostNetwork: true }, podIps: [] });
      expect(config.envs[0]?.value.toString()).toBe("192.0.2.1");
      const hosts = await readFile(config.mounts[0]?.hostPath ?? "", "utf8");
      expect(hosts).toBe(
        `# Kubernetes-managed hosts file (host network).\n${await readFile("/etc/hosts", "utf8")}`,
      );
    });

    test("with two addresses, the one of the node's family is used, as in the status", async () => {
      const env = [{ name: "IPS", valueFrom: { fieldRef: { fieldPath: "status.podIPs" } } }];
      const config = await prepare({ env }, { podIps: ["fd00::2", "10.0.0.2"] });
      expect(config.envs[0]?.value.toString()).toBe("10.0.0.2,fd00::2");
    });

    test("reports the variables that were skipped", async () => {
      await prepare({ envFrom: [{ configMapRef: { name: "odd" } }] });
      expect(events).toMatchObject([{ type: "Warning", reason: "InvalidEnvironmentVariableNames" }]);
    });

    test("an invalid configuration leaves no files behind", async () => {
      const refused = [
        prepare({ env: [{ name: "X", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }),
        prepare({ securityContext: { runAsNonRoot: true, runAsUser: 0 } }),
        prepare({ volumeMounts: [{ name: "none", mountPath: "/x" }] }),
      ];
      const messages = await Promise.all(refused.map((each) => each.catch((error: Error) => error.message)));
      expect(messages).toEqual([
        'secret "s" not found',
        'container\'s runAsUser breaks non-root policy (pod: "web_shop(u-1)", container: c)',
        'cannot find volume "none" to mount into container "c"',
      ]);
      expect(await readdir(root)).toEqual(["volume"]);
    });

    test("reports the code of a failed CRI call", async () => {
      const unavailable = Object.assign(new Error("14 UNAVAILABLE: gone"), {
        code: grpcStatus.UNAVAILABLE,
        details: "gone",
      });
      deps = { ...deps, imageUser: () => Promise.reject(unavailable) };
      await expect(prepare()).rejects.toMatchObject({
        reason: "CreateContainerConfigError",
        message: "rpc error: code = Unavailable desc = gone",
      });
    });

    test("does not report an abort as a failure", async () => {
      const signal = AbortSignal.abort(new Error("stopping"));
      deps = { ...deps, imageUser: () => Promise.reject(new Error("cancelled")) };
      await expect(prepare({}, { signal })).rejects.toThrow("stopping");
    });
  });
});

describe("container-config", () => {
  function build(container: Partial<Container> = {}) {
    return buildContainerConfig({
      ...makePodWith(container),
      attempt: 2,
      restartDelayMs: 20_000,
      imageRef: "sha256:1",
      environment: new Map([["NAME", Buffer.from("world")]]),
      mounts: [Mount.fromPartial({ containerPath: "/data", hostPath: "/v" })],
      linux: LinuxContainerConfig.fromPartial({}),
    });
  }

  describe("buildContainerConfig", () => {
    test("a plain container", () => {
      const config = build();
      expect(config).toMatchObject({
        metadata: { name: "c", attempt: 2 },
        image: { image: "sha256:1", userSpecifiedImage: "nginx:1.25" },
        command: [],
        args: [],
        workingDir: "",
        envs: [{ key: "NAME", value: Buffer.from("world") }],
        mounts: [{ containerPath: "/data" }],
        devices: [],
        labels: { "io.kubernetes.container.name": "c", "io.kubernetes.pod.uid": "u-1" },
        annotations: {
          "io.kubernetes.container.restartCount": "2",
          "kindling.container.restartDelayMs": "20000",
        },
        logPath: "c/2.log",
        stdin: false,
        stdinOnce: false,
        tty: false,
        stopSignal: Signal.SIGNAL_RUNTIME_DEFAULT,
      });
      const encoded = ContainerConfig.encode(config).finish();
      expect(ContainerConfig.decode(encoded).annotations).toEqual(config.annotations);
    });

    test("command and arguments are expanded", () => {
      const config = build({ command: ["echo", "$(NAME)"], args: ["$$(NAME)", "$(OTHER)", "hello $(NAME)"] });
      expect(config.command).toEqual(["echo", "world"]);
      expect(config.args).toEqual(["$(NAME)", "$(OTHER)", "hello world"]);
    });

    test("other fields are copied", () => {
      const given = { workingDir: "/srv", stdin: true, stdinOnce: true, tty: true };
      expect(build(given)).toMatchObject(given);
    });

    test.each([
      ["SIGTERM", Signal.SIGNAL_SIGTERM],
      ["SIGRTMIN+3", Signal.SIGNAL_SIGRTMINPLUS3],
      ["SIGRTMAX-1", Signal.SIGNAL_SIGRTMAXMINUS1],
    ])("stop signal %s", (stopSignal, signal) => {
      expect(build({ lifecycle: { stopSignal } }).stopSignal).toBe(signal);
    });

    test("rejects an unknown signal", () => {
      expect(() => build({ lifecycle: { stopSignal: "SIGODD" } })).toThrow("SIGODD is not a signal");
    });
  });
});
