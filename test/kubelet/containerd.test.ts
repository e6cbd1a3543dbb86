import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod } from "../../src/api/meta/objects.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { type Containerd, startContainerd } from "../support/cri/containerd.ts";
import { busyboxImage, writeBusyboxTree } from "../support/cri/cri-runtime.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";
import { describeWithTool, isToolAtLeast, toolPath } from "../support/programs/tools.ts";
import { writeImageArchive } from "../support/registry/image-archive.ts";
import { type Registry, startRegistry } from "../support/registry/registry.ts";

const isReady = (pod: Pod) => conditionOf(pod, "Ready")?.status === "True";
const firstContainer = (pod: Pod) => pod.status?.containerStatuses?.[0];
const uidOf = (pod: Pod) => pod.metadata.uid ?? "";
const running = (command: string, more: object = {}) => ({
  containers: [{ name: "c", image: busyboxImage, command: ["sh", "-c", command], ...more }],
});
/** Exits at once on SIGTERM, unlike a sleep that is the first process. */
const idle = "trap 'exit 0' TERM; while :; do sleep 0.2; done";

for (const tool of ["containerd", "containerd-2"] as const) {
  // 1.6, which Debian 12 has, sends none.
  const hasEvents = isToolAtLeast(tool, "1.7");
  describeWithTool(tool, `a kubelet on ${tool}, ${hasEvents ? "with" : "without"} container events`, () => {
    let folder: string;
    let archive: string;
    let containerd: Containerd;
    let node: KubeletNode;
    const lines: string[] = [];

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "kdl-"));
      await writeBusyboxTree(join(folder, "busybox"));
      archive = writeImageArchive({ root: join(folder, "busybox"), tag: busyboxImage, command: ["sh"] });
      containerd = await startContainerd({
        program: toolPath(tool),
        folder: join(folder, "c"),
        archives: [archive],
      });
      const logger = createLogger({
        format: "text",
        level: "debug",
        destination: { write: (line: string) => lines.push(line) },
      });
      node = await startKubeletNode({ cri: containerd.client, logger });
    });
    afterAll(async () => {
      await node?.close();
      await containerd?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    /** Containers and sandboxes of a pod in containerd, found by the kubelet's label. */
    async function inRuntime(pod: Pod) {
      const labelSelector = { "io.kubernetes.pod.uid": uidOf(pod) };
      const [sandboxes, containers] = await Promise.all([
        containerd.client.runtime.listPodSandbox({ filter: { id: "", state: undefined, labelSelector } }),
        containerd.client.runtime.listContainers({
          filter: { id: "", state: undefined, podSandboxId: "", labelSelector },
        }),
      ]);
      return { sandboxes: sandboxes.items, containers: containers.containers };
    }

    async function killFirstProcess(info: Readonly<Record<string, string>>): Promise<void> {
      const { pid } = JSON.parse(info.info ?? "{}");
      expect(pid).toBeGreaterThan(1);
      process.kill(pid, "SIGKILL");
    }

    test("a pod becomes ready by its probe, with an address, a log and its environment", async () => {
      await node.run("ready", {
        initContainers: [
          {
            name: "first",
            image: busyboxImage,
            command: ["sh", "-c", "echo made > /v/file"],
            volumeMounts: [{ name: "v", mountPath: "/v" }],
          },
        ],
        containers: [
          {
            name: "c",
            image: busyboxImage,
            command: ["sh", "-c", `echo hello $NAME from $(cat /v/file); touch /tmp/up; ${idle}`],
            env: [{ name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
            readinessProbe: { exec: { command: ["cat", "/tmp/up"] }, periodSeconds: 1, timeoutSeconds: 10 },
            volumeMounts: [{ name: "v", mountPath: "/v" }],
          },
        ],
        volumes: [{ name: "v", emptyDir: {} }],
      });
      const pod = await node.until("ready", isReady);
      expect(pod.status).toMatchObject({ phase: "Running", podIP: expect.stringMatching(/^10\./) });
      expect(firstContainer(pod)).toMatchObject({
        ready: true,
        started: true,
        restartCount: 0,
        containerID: expect.stringMatching(/^containerd:\/\/[0-9a-f]{64}$/),
      });
      expect(pod.status?.initContainerStatuses?.[0]?.state?.terminated).toMatchObject({
        exitCode: 0,
        reason: "Completed",
      });
      const log = join(node.dataDir, "logs", `default_ready_${uidOf(pod)}`, "c/0.log");
      await expect.poll(() => readFile(log, "utf8")).toMatch(/ stdout F hello ready from made\n/);
      await expect
        .poll(() => lines.some((line) => line.includes("the runtime does not support container events")))
        .toBe(!hasEvents);
    });

    test("a failing readiness probe makes the pod unready, and a succeeding one ready again", async () => {
      const exec = { command: ["cat", "/tmp/up"] };
      const readinessProbe = { exec, periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1 };
      await node.run("flapping", running(`touch /tmp/up; ${idle}`, { readinessProbe }));
      const pod = await node.until("flapping", isReady);
      const containerId = (await inRuntime(pod)).containers[0]?.id ?? "";
      const inside = (...cmd: string[]) =>
        containerd.client.runtime.execSync({ containerId, cmd, timeout: 60n });
      await inside("busybox", "rm", "/tmp/up");
      await node.until("flapping", (it) => conditionOf(it, "Ready")?.status === "False");
      await inside("touch", "/tmp/up");
      await node.until("flapping", isReady);
      await node.untilEvent("flapping", /^Readiness probe failed: .*\/tmp\/up/);
    });

    test("an exited container is restarted with its exit code and termination message, then backs off", async () => {
      await node.run("crashing", running("echo last words > /dev/termination-log; exit 3"));
      const pod = await node.until(
        "crashing",
        (it) => firstContainer(it)?.state?.waiting?.reason === "CrashLoopBackOff",
      );
      expect(firstContainer(pod)?.restartCount).toBeGreaterThanOrEqual(1);
      expect(firstContainer(pod)?.lastState?.terminated).toMatchObject({
        exitCode: 3,
        reason: "Error",
        message: "last words\n",
      });
      await node.untilEvent("crashing", /^Back-off restarting failed container c in pod crashing_default/);
    });

    test("a container that another program kills is restarted", async () => {
      await node.run("killed", running(idle));
      const before = await node.until("killed", isReady);
      const { containers } = await inRuntime(before);
      const status = await containerd.client.runtime.containerStatus({
        containerId: containers[0]?.id ?? "",
        verbose: true,
      });
      // In the cgroup that the kubelet has made for the pod.
      const { pid } = JSON.parse(status.info.info ?? "{}");
      expect(await readFile(`/proc/${pid}/cgroup`, "utf8")).toMatch(
        new RegExp(`^\\d+:(memory)?:/.*kubepods/besteffort/pod${uidOf(before)}/`, "m"),
      );
      await killFirstProcess(status.info);
      const after = await node.until(
        "killed",
        (pod) => firstContainer(pod)?.restartCount === 1 && isReady(pod),
      );
      expect(firstContainer(after)?.lastState?.terminated?.exitCode).toBe(137);
    });

    test("3085-5 a sandbox that is killed: False, then True with a new time and the right restart count", async () => {
      const type = "PodReadyToStartContainers";
      await node.run("lost", running(idle));
      const before = await node.until("lost", isReady);
      const { sandboxes } = await inRuntime(before);
      const status = await containerd.client.runtime.podSandboxStatus({
        podSandboxId: sandboxes[0]?.id ?? "",
        verbose: true,
      });
      const history = await node.follow("lost");
      await killFirstProcess(status.info);
      const after = await node.until(
        "lost",
        (pod) =>
          firstContainer(pod)?.restartCount === 1 &&
          conditionOf(pod, type)?.status === "True" &&
          isReady(pod),
      );
      await history.stop();
      expect(history.versions.map((pod) => conditionOf(pod, type)?.status)).toContain("False");
      expect(Date.parse(conditionOf(after, type)?.lastTransitionTime ?? "")).toBeGreaterThanOrEqual(
        Date.parse(conditionOf(before, type)?.lastTransitionTime ?? ""),
      );
      expect(firstContainer(after)).toMatchObject({ restartCount: 1, ready: true });
      expect(after.status?.podIP).toMatch(/^10\./);
      const { sandboxes: now } = await inRuntime(after);
      expect(now.map(({ metadata }) => metadata?.attempt)).toContain(1);
    });

    test("deletion leaves no sandbox, container, volume, mount or log", async () => {
      await node.client.create("configmaps", makeConfigMap("settings", { data: { key: "value" } }));
      await node.run("deleted", {
        ...running(idle, {
          volumeMounts: [
            { name: "memory", mountPath: "/memory" },
            { name: "settings", mountPath: "/settings" },
            { name: "settings", mountPath: "/one", subPath: "key" },
          ],
        }),
        volumes: [
          { name: "memory", emptyDir: { medium: "Memory" } },
          { name: "settings", configMap: { name: "settings" } },
        ],
      });
      const pod = await node.until("deleted", isReady);
      const mountsOf = async () =>
        (await readFile("/proc/self/mountinfo", "utf8"))
          .split("\n")
          .filter((line) => line.includes(uidOf(pod)));
      expect(await mountsOf()).not.toEqual([]);
      await node.client.delete("pods", { namespace: "default", name: "deleted" });
      await node.untilGone("deleted");
      expect(await inRuntime(pod)).toEqual({ sandboxes: [], containers: [] });
      expect(await mountsOf()).toEqual([]);
      expect(existsSync(join(node.dataDir, "pods", uidOf(pod)))).toBe(false);
      expect((await readdir(join(node.dataDir, "logs"))).join()).not.toContain(uidOf(pod));
    });

    test("a restarted kubelet adopts its containers and notices which have exited", async () => {
      await node.run("kept", running(idle));
      // With a probe, so that the stop signal is sent only when the server listens.
      const readinessProbe = { exec: { command: ["cat", "/tmp/up"] }, periodSeconds: 1, timeoutSeconds: 10 };
      const ending = "trap 'exit 7' TERM; touch /tmp/up; while :; do sleep 0.2; done";
      await node.run("ended", { ...running(ending, { readinessProbe }), restartPolicy: "Never" });
      const kept = await node.until("kept", isReady);
      const { containers } = await inRuntime(await node.until("ended", isReady));
      await node.stop();
      await containerd.client.runtime.stopContainer({ containerId: containers[0]?.id ?? "", timeout: 60n });
      await node.start();
      const ended = await node.until("ended", (pod) => pod.status?.phase === "Failed");
      expect(firstContainer(ended)?.state?.terminated?.exitCode).toBe(7);
      const after = await node.until("kept", isReady);
      expect(firstContainer(after)).toEqual(firstContainer(kept));
      expect((await inRuntime(after)).containers).toHaveLength(1);
    });

    test("a container starts when its missing configuration is created", async () => {
      await node.run("healing", running(idle, { envFrom: [{ configMapRef: { name: "late" } }] }));
      const stuck = await node.until(
        "healing",
        (pod) => firstContainer(pod)?.state?.waiting?.reason === "CreateContainerConfigError",
      );
      expect(firstContainer(stuck)?.state?.waiting?.message).toBe('configmap "late" not found');
      await node.client.create("configmaps", makeConfigMap("late", { data: { KEY: "value" } }));
      const pod = await node.until("healing", isReady);
      expect(firstContainer(pod)?.restartCount).toBe(0);
    });

    describeWithTool("docker-registry", "with a registry", () => {
      let registry: Registry;
      beforeAll(async () => {
        registry = await startRegistry();
        for (const name of ["one:1", "two:1"]) await registry.push(`docker-archive:${archive}`, name);
      });
      afterAll(() => registry?.stop());

      test("3542-14 images are pulled with PullImage, and progress is available from the content store", async () => {
        for (const name of ["one", "two"]) {
          const image = `${registry.host}/${name}:1`;
          await node.run(`pulls-${name}`, running(idle, { image }));
          await node.until(`pulls-${name}`, isReady);
          await node.untilEvent(`pulls-${name}`, /^Successfully pulled image "127\.0\.0\.1:\d+\/.*" in /);
        }
        expect(lines.filter((line) => line.includes("does not implement PullImageWithProgress"))).toEqual([]);
        const events = await node.client.list("events", { namespace: "default" });
        const reason = "PullImageWithProgressNotImplemented";
        expect(events.items.filter((event) => event.reason === reason)).toEqual([]);
        const { status } = await node.client.get("nodes", { name: node.name });
        expect(status?.conditions?.filter(({ type }) => type === "ImagePullProgressAvailable")).toEqual([]);
      });

      test("a missing image: ErrImagePull, back-off, and the registry's message", async () => {
        const image = `${registry.host}/missing:1`;
        await node.run("missing", running(idle, { image }));
        const pod = await node.until(
          "missing",
          (it) => firstContainer(it)?.state?.waiting?.reason === "ImagePullBackOff",
        );
        expect(firstContainer(pod)?.state?.waiting?.message).toMatch(/not found/);
        await node.untilEvent("missing", /^Failed to pull image ".*\/missing:1": .*not found/);
      });
    });
  });
}
