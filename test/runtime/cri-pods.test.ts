import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { status as codes } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ContainerState,
  ImageSpec,
  MountPropagation,
  NamespaceMode,
  PodSandboxState,
  SupplementalGroupsPolicy,
} from "../../src/cri/generated/cri.ts";
import {
  containerConfig,
  execIn,
  podConfig,
  runContainer,
  runSandbox,
  statusOf,
  untilExited,
} from "../support/cri-pod.ts";
import { busyboxImage, type CriRuntime, startCriRuntime } from "../support/cri-runtime.ts";
import { describeWithTool } from "../support/tools.ts";

const sleepy = { command: ["sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.05; done"] };
/** Says by a file when it would hear its stop signal: the first process of a pod misses what comes before. */
const listening = {
  command: ["sh", "-c", "trap 'exit 7' TERM; echo > /ready; while :; do sleep 0.05; done"],
};

describeWithTool("busybox", "CRI", () => {
  describeWithTool("conmon", "with the driver oci", () => suite("oci"));
  describe("with the driver host", () => suite("host"));
});

function suite(driver: "oci" | "host"): void {
  let runtime: CriRuntime;
  const client = () => runtime.client;
  beforeAll(async () => {
    runtime = await startCriRuntime({ driver });
  });
  afterAll(() => runtime?.stop());

  test("runtime info: version, conditions, handlers, verbose reasons", async () => {
    const version = await client().runtime.version({ version: "0.1.0" });
    expect(version).toMatchObject({ runtimeName: "kindling", runtimeApiVersion: "v1" });
    const { status, info, runtimeHandlers } = await client().runtime.status({ verbose: true });
    expect(status?.conditions.map(({ type, status: ok }) => [type, ok])).toEqual([
      ["RuntimeReady", true],
      ["NetworkReady", true],
    ]);
    expect(JSON.parse(info.driver ?? "")).toMatchObject({ name: driver });
    expect(runtimeHandlers.map(({ name }) => name)).toContain("");
  });

  test("what is not there answers UNIMPLEMENTED", async () => {
    const call = client().runtime.portForward({ podSandboxId: "x", port: [80] });
    await expect(call).rejects.toMatchObject({ code: codes.UNIMPLEMENTED });
  });

  test("sandbox: run, status, list with filters, stop, remove, each as often as one likes", async () => {
    const config = podConfig({ labels: { app: "web", tier: "front" } });
    const id = await runSandbox(client(), config);
    const { status } = await client().runtime.podSandboxStatus({ podSandboxId: id, verbose: true });
    expect(status).toMatchObject({ state: PodSandboxState.SANDBOX_READY, metadata: config.metadata });
    expect(status?.network?.ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/);

    const list = async (filter: {
      id?: string;
      state?: PodSandboxState;
      labels?: Record<string, string>;
    }) => {
      const { items } = await client().runtime.listPodSandbox({
        filter: {
          id: filter.id ?? "",
          state: filter.state === undefined ? undefined : { state: filter.state },
          labelSelector: filter.labels ?? {},
        },
      });
      return items.filter((item) => item.id === id).length;
    };
    expect(await list({ id: id.slice(0, 12) })).toBe(1);
    expect(await list({ labels: { app: "web" } })).toBe(1);
    expect(await list({ labels: { app: "db" } })).toBe(0);
    expect(await list({ state: PodSandboxState.SANDBOX_NOTREADY })).toBe(0);

    for (let i = 0; i < 2; i++) await client().runtime.stopPodSandbox({ podSandboxId: id });
    expect(await list({ state: PodSandboxState.SANDBOX_NOTREADY })).toBe(1);
    for (let i = 0; i < 2; i++) await client().runtime.removePodSandbox({ podSandboxId: id });
    await client().runtime.stopPodSandbox({ podSandboxId: id });
    await expect(
      client().runtime.podSandboxStatus({ podSandboxId: id, verbose: false }),
    ).rejects.toMatchObject({ code: codes.NOT_FOUND });
  });

  test("of two sandboxes with one name and attempt, made at the same time, one is", async () => {
    const config = podConfig();
    const made = await Promise.allSettled([runSandbox(client(), config), runSandbox(client(), config)]);
    expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = made.find((result) => result.status === "rejected");
    expect(refused?.reason).toMatchObject({ code: codes.ALREADY_EXISTS });
  });

  test("container: create, start, status, list, stop with the stop signal, remove", async () => {
    const sandbox = await runSandbox(client());
    const config = containerConfig({ ...listening, labels: { role: "x" }, annotations: { note: "y" } });
    const create = () =>
      client().runtime.createContainer({ podSandboxId: sandbox, config, sandboxConfig: podConfig() });
    const { containerId } = await create();
    await expect(create()).rejects.toMatchObject({ code: codes.ALREADY_EXISTS });
    expect(await statusOf(client(), containerId)).toMatchObject({
      state: ContainerState.CONTAINER_CREATED,
      labels: { role: "x" },
      annotations: { note: "y" },
      image: { image: busyboxImage },
    });
    await client().runtime.startContainer({ containerId });
    const started = await statusOf(client(), containerId.slice(0, 13));
    expect(started.state).toBe(ContainerState.CONTAINER_RUNNING);
    expect(started.startedAt).toBeGreaterThanOrEqual(started.createdAt);
    await expect(client().runtime.startContainer({ containerId })).rejects.toMatchObject({
      code: codes.FAILED_PRECONDITION,
    });
    const { containers } = await client().runtime.listContainers({
      filter: {
        id: "",
        podSandboxId: sandbox,
        state: { state: ContainerState.CONTAINER_RUNNING },
        labelSelector: { role: "x" },
      },
    });
    expect(containers.map(({ id }) => id)).toEqual([containerId]);

    await expect
      .poll(async () => (await execIn(client(), containerId, "test -e /ready")).exitCode, {
        timeout: 20_000,
      })
      .toBe(0);
    for (let i = 0; i < 2; i++) await client().runtime.stopContainer({ containerId, timeout: 10n });
    expect(await statusOf(client(), containerId)).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 7,
      reason: "Error",
    });
    for (let i = 0; i < 2; i++) await client().runtime.removeContainer({ containerId });
    await client().runtime.stopContainer({ containerId, timeout: 1n });
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("a container that ignores its stop signal is killed when the time is over", async () => {
    const sandbox = await runSandbox(client());
    const command = ["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"];
    const containerId = await runContainer(client(), sandbox, { command });
    await client().runtime.stopContainer({ containerId, timeout: 1n });
    expect((await statusOf(client(), containerId)).exitCode).toBe(137);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("logs: CRI's format, both streams, reopened after a rotation", async () => {
    const logDirectory = join(runtime.directory, "logs");
    const sandbox = await runSandbox(client(), podConfig({ logDirectory }));
    const command = ["sh", "-c", "echo out; echo err >&2; while :; do echo tick; sleep 0.05; done"];
    const containerId = await runContainer(client(), sandbox, { command, logPath: "main/0.log" });
    const path = join(logDirectory, "main/0.log");
    expect((await statusOf(client(), containerId)).logPath).toBe(path);
    await expect.poll(() => readFile(path, "utf8")).toMatch(/^\S+ stdout F out$/m);
    await expect.poll(() => readFile(path, "utf8")).toMatch(/^\S+ stderr F err$/m);
    await rename(path, `${path}.1`);
    await client().runtime.reopenContainerLog({ containerId });
    await expect.poll(() => readFile(path, "utf8").catch(() => "")).toMatch(/stdout F tick/);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("exec-sync: output, exit code, time limit", async () => {
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, sleepy);
    expect(await execIn(client(), containerId, "echo a; echo b >&2; exit 3")).toEqual({
      stdout: "a\n",
      stderr: "b\n",
      exitCode: 3,
    });
    const months = client().runtime.execSync({ containerId, cmd: ["true"], timeout: 10_000_000n });
    expect((await months).exitCode).toBe(0);
    const late = client().runtime.execSync({ containerId, cmd: ["sleep", "30"], timeout: 1n });
    await expect(late).rejects.toMatchObject({ code: codes.DEADLINE_EXCEEDED });
    await expect
      .poll(async () => (await execIn(client(), containerId, "ps")).stdout)
      .not.toContain("sleep 30");
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("networking: pods have addresses, names and resolvers of their own and reach each other", async () => {
    const config = podConfig({
      hostname: "web-0",
      dnsConfig: { servers: ["10.0.0.10"], searches: ["svc.local"], options: ["ndots:5"] },
    });
    const server = await runSandbox(client(), config);
    const command = ["httpd", "-f", "-p", "8080", "-h", "/srv"];
    const web = await runContainer(client(), server, { command });
    const { status } = await client().runtime.podSandboxStatus({ podSandboxId: server, verbose: false });
    expect((await execIn(client(), web, "hostname; cat /etc/hostname")).stdout).toBe("web-0\nweb-0\n");
    expect((await execIn(client(), web, "cat /etc/resolv.conf")).stdout).toBe(
      "search svc.local\nnameserver 10.0.0.10\noptions ndots:5\n",
    );
    const other = await runSandbox(client());
    const caller = await runContainer(client(), other, sleepy);
    const url = `http://${status?.network?.ip}:8080/index.html`;
    expect((await execIn(client(), caller, `wget -q -O - ${url}`)).stdout).toBe("hello from a pod\n");
    expect(await (await fetch(url)).text()).toBe("hello from a pod\n");
    for (const podSandboxId of [server, other]) await client().runtime.removePodSandbox({ podSandboxId });
  });

  test("several containers share network, IPC and /dev/shm, but not processes", async () => {
    const sandbox = await runSandbox(client());
    const first = await runContainer(client(), sandbox, { ...sleepy, metadata: { name: "a", attempt: 0 } });
    const second = await runContainer(client(), sandbox, { ...sleepy, metadata: { name: "b", attempt: 0 } });
    await execIn(
      client(),
      first,
      "echo shared > /dev/shm/file; nc -l -p 9000 -e echo hello > /dev/null 2>&1 &",
    );
    expect((await execIn(client(), second, "cat /dev/shm/file")).stdout).toBe("shared\n");
    await expect
      .poll(async () => (await execIn(client(), second, "nc 127.0.0.1 9000")).stdout)
      .toBe("hello\n");
    expect((await execIn(client(), second, "ps")).stdout.match(/trap/g)).toHaveLength(1);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  // CRI's default, and crictl's: kubelets ask for it.
  test.each([
    ["as asked", { securityContext: { namespaceOptions: { pid: NamespaceMode.POD } } }],
    ["when nothing is said of them", {}],
  ])("shared processes %s: a pause process, and containers that see each other", async (_how, linux) => {
    const sandbox = await runSandbox(client(), podConfig({ linux }));
    const first = await runContainer(client(), sandbox, {
      command: ["sleep", "1234"],
      metadata: { name: "a", attempt: 0 },
      linux,
    });
    await runContainer(client(), sandbox, {
      command: ["sleep", "5678"],
      metadata: { name: "b", attempt: 0 },
      linux,
    });
    const { stdout } = await execIn(client(), first, "ps");
    expect(stdout).toContain("/pause");
    expect(stdout).toContain("sleep 5678");
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("security context: users, groups, read-only root, capabilities", async () => {
    const sandbox = await runSandbox(client());
    const base = { namespaceOptions: { pid: NamespaceMode.CONTAINER } };
    const named = await runContainer(client(), sandbox, {
      ...sleepy,
      metadata: { name: "named", attempt: 0 },
      linux: {
        securityContext: { ...base, runAsUsername: "web", supplementalGroups: [77n], readonlyRootfs: true },
      },
    });
    expect((await execIn(client(), named, "id -u; id -g; id -G")).stdout).toBe("101\n102\n102 77 200\n");
    expect((await execIn(client(), named, "touch /file")).exitCode).not.toBe(0);
    expect((await statusOf(client(), named)).user?.linux).toMatchObject({ uid: 101n, gid: 102n });
    const strict = await runContainer(client(), sandbox, {
      ...sleepy,
      metadata: { name: "strict", attempt: 0 },
      linux: {
        securityContext: {
          ...base,
          runAsUser: { value: 101n },
          runAsGroup: { value: 300n },
          supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict,
          capabilities: { dropCapabilities: ["ALL"] },
        },
      },
    });
    expect((await execIn(client(), strict, "id -u; id -g; id -G")).stdout).toBe("101\n300\n300\n");
    const { stdout } = await execIn(client(), strict, "grep CapBnd /proc/1/status");
    expect(stdout).toMatch(/0000000000000000/);
    const groupAlone = runContainer(client(), sandbox, {
      ...sleepy,
      metadata: { name: "group-alone", attempt: 0 },
      linux: { securityContext: { ...base, runAsGroup: { value: 300n } } },
    });
    await expect(groupAlone).rejects.toMatchObject({
      code: codes.INVALID_ARGUMENT,
      details: expect.stringMatching(/run_as_group is set without run_as_user/),
    });
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("mounts: a host path is there, made when missing, read-only where asked", async () => {
    const hostPath = join(runtime.directory, "made-by-the-runtime");
    const readonlyPath = join(runtime.directory, "read-only");
    await mkdir(readonlyPath);
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, {
      ...sleepy,
      mounts: [
        { hostPath, containerPath: "/data", propagation: MountPropagation.PROPAGATION_PRIVATE },
        { hostPath: readonlyPath, containerPath: "/fixed", readonly: true },
      ],
    });
    expect((await execIn(client(), containerId, "echo x > /data/file")).exitCode).toBe(0);
    expect((await stat(join(hostPath, "file"))).size).toBe(2);
    expect((await execIn(client(), containerId, "touch /fixed/file")).exitCode).not.toBe(0);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("mount propagation: what the host mounts later comes in, what a privileged container mounts goes out", async () => {
    const shared = join(runtime.directory, "shared");
    await mkdir(shared);
    mount(["--bind", shared, shared]);
    mount(["--make-shared", shared]);
    const isMounted = (path: string) => readFileSync("/proc/self/mountinfo", "utf8").includes(` ${path} `);
    try {
      const sandbox = await runSandbox(
        client(),
        podConfig({ linux: { securityContext: { privileged: true } } }),
      );
      const run = (name: string, propagation: MountPropagation) =>
        runContainer(client(), sandbox, {
          ...sleepy,
          metadata: { name, attempt: 0 },
          mounts: [{ hostPath: shared, containerPath: "/shared", propagation }],
          linux: { securityContext: { privileged: true } },
        });
      const hidden = await run("private", MountPropagation.PROPAGATION_PRIVATE);
      const slave = await run("slave", MountPropagation.PROPAGATION_HOST_TO_CONTAINER);
      const both = await run("both", MountPropagation.PROPAGATION_BIDIRECTIONAL);
      await mkdir(join(shared, "later"));
      mount(["-t", "tmpfs", "later", join(shared, "later")]);
      const seesLater = async (containerId: string) =>
        (await execIn(client(), containerId, "grep -q ' /shared/later ' /proc/self/mounts")).exitCode === 0;
      expect(await Promise.all([hidden, slave, both].map(seesLater))).toEqual([false, true, true]);

      const mountInside = (containerId: string, name: string) =>
        execIn(client(), containerId, `mkdir /shared/${name} && mount -t tmpfs x /shared/${name}`);
      expect(await mountInside(slave, "from-slave")).toMatchObject({ exitCode: 0 });
      expect(isMounted(join(shared, "from-slave"))).toBe(false);
      expect(await mountInside(both, "from-both")).toMatchObject({ exitCode: 0 });
      expect(isMounted(join(shared, "from-both"))).toBe(true);
      await client().runtime.removePodSandbox({ podSandboxId: sandbox });
    } finally {
      execFileSync("umount", ["--recursive", shared]);
    }
  });

  test("images as volumes: read-only, a directory of one, and why not", async () => {
    const sandbox = await runSandbox(client());
    const image = { image: busyboxImage };
    const containerId = await runContainer(client(), sandbox, {
      ...sleepy,
      mounts: [
        { image, containerPath: "/image", readonly: true },
        { image, containerPath: "/site", imageSubPath: "srv", readonly: true },
      ],
    });
    const read = await execIn(client(), containerId, "ls -d /image/bin/busybox; cat /site/index.html");
    expect(read.stdout).toBe("/image/bin/busybox\nhello from a pod\n");
    const written = await execIn(client(), containerId, "touch /image/x || touch /site/x");
    expect(written).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Read-only file system") });
    const removal = client().images.removeImage({ image: ImageSpec.fromPartial(image) });
    await expect(removal).rejects.toMatchObject({ details: expect.stringContaining("in use") });

    const failure = async (mountOptions: object) =>
      runContainer(client(), sandbox, {
        metadata: { name: "other", attempt: 0 },
        mounts: [{ containerPath: "/image", readonly: true, ...mountOptions }],
      }).then(
        () => "",
        (error) => error.details,
      );
    expect(await failure({ image: { image: "test.local/absent:1" } })).toMatch(
      /^ImageVolumeMountFailed: image test.local\/absent:1 is not here/,
    );
    expect(await failure({ image, imageSubPath: "../../etc/ssl" })).toMatch(
      /^ImageVolumeMountFailed: image_sub_path ..\/..\/etc\/ssl is no directory/,
    );
    expect(await failure({ image, hostPath: "/etc" })).toMatch(/host_path must be empty/);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
    expect(await readdir(join(runtime.dataDir, "images/rootfs"))).toEqual([]);
  });

  test("environment, working directory, command and arguments come from request and image", async () => {
    const sandbox = await runSandbox(client());
    const logDirectory = join(runtime.directory, "env-logs");
    const logged = await runSandbox(client(), podConfig({ logDirectory }));
    const containerId = await runContainer(client(), logged, {
      command: ["sh", "-c", 'echo "$COLOR $PWD $0 $1"', "name"],
      args: ["arg"],
      envs: [{ key: "COLOR", value: Buffer.from("blue") }],
      workingDir: "/srv",
      logPath: "0.log",
    });
    expect(await untilExited(client(), containerId)).toMatchObject({ exitCode: 0, reason: "Completed" });
    expect(await readFile(join(logDirectory, "0.log"), "utf8")).toMatch(/stdout F blue \/srv name arg\n/);
    for (const podSandboxId of [sandbox, logged]) await client().runtime.removePodSandbox({ podSandboxId });
  });

  test("stats of containers and pods, and limits changed while it runs", async () => {
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, sleepy);
    const { stats } = await client().runtime.containerStats({ containerId });
    expect(stats?.attributes?.id).toBe(containerId);
    expect(Number(stats?.memory?.workingSetBytes?.value)).toBeGreaterThan(0);
    const { imageFilesystems } = await client().images.imageFsInfo({});
    expect(stats?.writableLayer?.fsId).toEqual(imageFilesystems[0]?.fsId);
    expect(Number(stats?.writableLayer?.usedBytes?.value)).toBeLessThan(500_000);
    const pods = await client().runtime.listPodSandboxStats({ filter: { id: sandbox, labelSelector: {} } });
    expect(pods.stats[0]?.linux?.containers).toHaveLength(1);
    expect(pods.stats[0]?.linux?.network?.defaultInterface?.name).toBe("eth0");
    await client().runtime.updateContainerResources({
      containerId,
      annotations: {},
      linux: {
        cpuPeriod: 100_000n,
        cpuQuota: 50_000n,
        cpuShares: 512n,
        memoryLimitInBytes: 64n * 1_024n * 1_024n,
        oomScoreAdj: 0n,
        cpusetCpus: "",
        cpusetMems: "",
        hugepageLimits: [],
        unified: {},
        memorySwapLimitInBytes: 0n,
      },
    });
    expect((await statusOf(client(), containerId)).resources?.linux?.cpuQuota).toBe(50_000n);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("stats: what a container has written", async () => {
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, {
      command: ["sh", "-c", "dd if=/dev/zero of=/tmp/a bs=1024 count=3000; echo > /tmp/done; sleep 100"],
    });
    await expect.poll(async () => (await execIn(client(), containerId, "cat /tmp/done")).exitCode).toBe(0);
    const { stats } = await client().runtime.containerStats({ containerId });
    const { usedBytes, inodesUsed } = stats?.writableLayer ?? {};
    expect(Number(usedBytes?.value)).toBeGreaterThan(2_900_000);
    expect(Number(usedBytes?.value)).toBeLessThan(3_500_000);
    // Its root, /tmp and the two files; places for mounts beside them.
    expect(Number(inodesUsed?.value)).toBeGreaterThanOrEqual(4);
    expect(Number(inodesUsed?.value)).toBeLessThan(40);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("events tell of every change, with the pod's state", async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const names = ["created", "started", "stopped", "deleted"];
    const reading = (async () => {
      for await (const event of client().runtime.getContainerEvents({}, { signal: stop.signal })) {
        seen.push(`${names[event.containerEventType]} ${event.containerId}`);
      }
    })().catch(() => {});
    // The subscription takes its moment: it is there once a pod of ours is heard of.
    const hearOfAnother = async () => {
      await client().runtime.removePodSandbox({ podSandboxId: await runSandbox(client()) });
      return seen.length;
    };
    await expect.poll(hearOfAnother, { interval: 200 }).toBeGreaterThan(0);
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, { command: ["true"] });
    await untilExited(client(), containerId);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
    for (const id of [containerId, sandbox]) {
      await expect
        .poll(() => seen.filter((line) => line.includes(id)))
        .toEqual(names.map((name) => `${name} ${id}`));
    }
    stop.abort();
    await reading;
  });

  test("a container that cannot run says why and leaves nothing", async () => {
    const sandbox = await runSandbox(client());
    await expect(runContainer(client(), sandbox, { command: ["/no/such/program"] })).rejects.toThrow(
      /no such file|not found/i,
    );
    await expect(
      runContainer(client(), sandbox, { metadata: { name: "x", attempt: 0 }, image: { image: "missing:1" } }),
    ).rejects.toMatchObject({ code: codes.NOT_FOUND });
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("a restart of the daemon: containers go on, exit codes are kept", async () => {
    const sandbox = await runSandbox(client());
    const running = await runContainer(client(), sandbox, sleepy);
    const ending = await runContainer(client(), sandbox, {
      metadata: { name: "ending", attempt: 0 },
      command: ["sh", "-c", "sleep 0.3; exit 9"],
    });
    await runtime.restart();
    expect((await statusOf(client(), running)).state).toBe(ContainerState.CONTAINER_RUNNING);
    expect((await untilExited(client(), ending)).exitCode).toBe(9);
    expect((await execIn(client(), running, "echo still here")).stdout).toBe("still here\n");
    await client().runtime.stopContainer({ containerId: running, timeout: 5n });
    expect((await statusOf(client(), running)).exitCode).toBe(7);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });
}

function mount(args: readonly string[]): void {
  execFileSync("mount", args);
}
