import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { status as codes } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import {
  ImageSpec,
  MountPropagation,
  NamespaceMode,
  SupplementalGroupsPolicy,
} from "../../src/cri/generated/cri.ts";
import { describeWithDrivers, sleepy } from "../support/cri/cri-drivers.ts";
import {
  execIn,
  podConfig,
  runContainer,
  runSandbox,
  statusOf,
  untilExited,
} from "../support/cri/cri-pod.ts";
import { busyboxImage } from "../support/cri/cri-runtime.ts";

describeWithDrivers("CRI: namespaces, mounts and process settings", ({ client, runtime }) => {
  test("networking: each pod has its own address, host name and resolver, and pods reach each other", async () => {
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
    // It takes its moment until it listens.
    await expect
      .poll(async () => (await execIn(client(), caller, `wget -q -O - ${url}`)).stdout)
      .toBe("hello from a pod\n");
    expect(await (await fetch(url)).text()).toBe("hello from a pod\n");
    for (const podSandboxId of [server, other]) await client().runtime.removePodSandbox({ podSandboxId });
  });

  test.each([
    ["hidden without a security context", undefined, { bytes: "0" }],
    ["visible with empty lists of paths", { maskedPaths: [], readonlyPaths: [] }, { bytes: "some" }],
  ])("masked paths are %s", async (_how, securityContext, { bytes }) => {
    const sandbox = await runSandbox(client());
    const linux = securityContext ? { securityContext } : {};
    const container = await runContainer(client(), sandbox, { ...sleepy, linux });
    const script = "[ $(wc -c < /proc/interrupts) = 0 ] && echo 0 || echo some";
    expect((await execIn(client(), container, script)).stdout).toBe(`${bytes}\n`);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
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
    await expect
      .poll(async () => (await execIn(client(), second, "ps")).stdout.match(/trap/g))
      .toHaveLength(1);
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
    // Each is the runtime's own process until it has become the program.
    const processes = async () => (await execIn(client(), first, "ps")).stdout;
    await expect.poll(processes).toContain("sleep 5678");
    await expect.poll(processes).toContain("/pause");
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
    await expect
      .poll(async () => (await execIn(client(), strict, "grep CapBnd /proc/1/status")).stdout)
      .toMatch(/0000000000000000/);
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

  test("mounts: a host path is mounted, created if it is missing, and read-only if requested", async () => {
    const hostPath = join(runtime().directory, "made-by-the-runtime");
    const readonlyPath = join(runtime().directory, "read-only");
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

  test("mount propagation: later mounts of the host appear in the container, and mounts of a privileged container on the host", async () => {
    const shared = join(runtime().directory, "shared");
    await mkdir(shared);
    execFileSync("mount", ["--bind", shared, shared]);
    execFileSync("mount", ["--make-shared", shared]);
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
      execFileSync("mount", ["-t", "tmpfs", "later", join(shared, "later")]);
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
      /^ImageVolumeMountFailed: image_sub_path ..\/..\/etc\/ssl is not a directory/,
    );
    expect(await failure({ image, hostPath: "/etc" })).toMatch(/host_path must be empty/);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
    expect(await readdir(join(runtime().dataDir, "images/rootfs"))).toEqual([]);
  });

  test("environment, working directory, command and arguments come from request and image", async () => {
    const sandbox = await runSandbox(client());
    const logDirectory = join(runtime().directory, "env-logs");
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
});
