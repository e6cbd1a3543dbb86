import { mkdirSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Pod } from "../../src/api/objects.ts";
import { busyboxImage } from "../support/cri-runtime.ts";
import { conditionOf } from "../support/kubelet-node.ts";
import { containerIdOf, shell, untilTold, useRuntimeNode } from "../support/runtime-node.ts";
import { isReady } from "../support/simulated-node.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { describeWithTool } from "../support/tools.ts";

const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
const phaseIs = (phase: string) => (pod: Pod) => pod.status?.phase === phase;

describeWithTool("busybox", "pods on our runtime, under our kubelet", () => {
  const folder = temporaryFolder();
  const records = join(folder, "records");
  const staticPodPath = join(folder, "static");
  mkdirSync(staticPodPath);
  const host = useRuntimeNode({ driver: "host", config: { staticPodPath } });

  /** A file on the node that containers write to, and that outlives them. */
  async function recorded(
    name: string,
  ): Promise<{ lines(): Promise<string[]>; mount: object; volume: object }> {
    await mkdir(records, { recursive: true });
    return {
      lines: async () =>
        (await readFile(join(records, name), "utf8").catch(() => "")).split("\n").filter(Boolean),
      mount: { volumeMounts: [{ name: "records", mountPath: "/records" }] },
      volume: { volumes: [{ name: "records", hostPath: { path: records } }] },
    };
  }

  test("volumes: each kind is there, and an update of a config map shows in the running container", async () => {
    const { node, exec } = host;
    const metadata = { name: "settings", namespace: "default" };
    await node.client.create("configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
      data: { colour: "blue", size: "small" },
    });
    await node.client.create("secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "password", namespace: "default" },
      data: { word: Buffer.from("s3cret").toString("base64") },
    });
    await makeServiceAccount(host.node.client);
    const pod = await node
      .run(
        "volumes",
        {
          serviceAccountName: "reader",
          containers: [
            shell(untilTold, {
              volumeMounts: [
                { name: "settings", mountPath: "/settings" },
                { name: "settings", mountPath: "/one/colour", subPath: "colour" },
                { name: "password", mountPath: "/password", readOnly: true },
                { name: "projected", mountPath: "/projected" },
                { name: "memory", mountPath: "/memory" },
                { name: "disk", mountPath: "/disk" },
                { name: "disk", mountPath: "/part", subPath: "a/b" },
              ],
            }),
          ],
          volumes: [
            { name: "settings", configMap: { name: "settings" } },
            { name: "password", secret: { secretName: "password", defaultMode: 0o400 } },
            { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
            { name: "disk", emptyDir: {} },
            {
              name: "projected",
              projected: {
                sources: [
                  { serviceAccountToken: { path: "token", audience: "shop", expirationSeconds: 3_600 } },
                  {
                    downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] },
                  },
                ],
              },
            },
          ],
        },
        { labels: { app: "volumes" } },
      )
      .then(() => node.until("volumes", isReady));
    expect(await exec(pod, "cat /settings/colour /settings/size /one/colour /password/word")).toBe(
      "bluesmallblues3cret",
    );
    expect(await exec(pod, "ls -l /password/..data/word")).toMatch(/^-r--------/);
    expect(await exec(pod, "cat /projected/labels")).toBe('app="volumes"');
    const [, claims = ""] = (await exec(pod, "cat /projected/token")).split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
      aud: ["shop"],
      sub: "system:serviceaccount:default:reader",
      "kubernetes.io": { pod: { name: "volumes" } },
    });
    expect(await exec(pod, "mount")).toMatch(/ on \/memory type tmpfs .*size=1024k/);
    await exec(pod, "echo -n part > /part/file");
    expect(await exec(pod, "cat /disk/a/b/file")).toBe("part");

    await node.client.patch("configmaps", metadata, {
      patch: { kind: "merge", body: { data: { colour: "green", size: null } } },
    });
    await expect.poll(() => exec(pod, "cat /settings/colour")).toBe("green");
    // As upstream: a file that is mounted by itself stays as it was.
    expect(await exec(pod, "ls /settings; cat /one/colour")).toBe("colour\nblue");
    // The pod's own description is another source of files.
    const ofPod = { namespace: "default", name: "volumes" };
    await node.client.patch("pods", ofPod, {
      patch: { kind: "merge", body: { metadata: { labels: { app: "renamed" } } } },
    });
    await expect.poll(() => exec(pod, "cat /projected/labels")).toBe('app="renamed"');

    // A kubelet that starts anew keeps up what the one before has mounted.
    await node.stop();
    await node.start();
    await node.client.patch("configmaps", metadata, {
      patch: { kind: "merge", body: { data: { colour: "red" } } },
    });
    await expect.poll(() => exec(pod, "cat /settings/colour")).toBe("red");
    expect(statusOf((await node.get("volumes")) as Pod)?.restartCount).toBe(0);
  });

  test("environment: literals, references, fields, resources, in order and expanded", async () => {
    const { node, exec } = host;
    await node.client.create("configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "env", namespace: "default" },
      data: { LEVEL: "debug", NAME: "from the map" },
    });
    await node.client.create("services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "data-base", namespace: "default" },
      spec: { ports: [{ name: "sql", port: 5_432 }] },
    });
    const fieldRef = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });
    await node.run("environment", {
      containers: [
        shell(untilTold, {
          envFrom: [{ configMapRef: { name: "env" } }, { prefix: "P_", configMapRef: { name: "env" } }],
          env: [
            { name: "NAME", ...fieldRef("metadata.name") },
            { name: "IP", ...fieldRef("status.podIP") },
            { name: "URL", value: "http://$(IP)/$(NAME)/$(NOBODY)/$$(NAME)" },
            {
              name: "MEMORY",
              valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } },
            },
            { name: "KEY", valueFrom: { configMapKeyRef: { name: "env", key: "LEVEL" } } },
            { name: "NONE", valueFrom: { secretKeyRef: { name: "nowhere", key: "x", optional: true } } },
          ],
          resources: { limits: { memory: "64Mi" } },
        }),
      ],
    });
    const pod = await node.until("environment", isReady);
    const lines = (await exec(pod, "env")).split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        ...["LEVEL=debug", "P_LEVEL=debug", "NAME=environment", "KEY=debug", "MEMORY=64"],
        ...[`IP=${pod.status?.podIP}`, `URL=http://${pod.status?.podIP}/environment/$(NOBODY)/$(NAME)`],
      ]),
    );
    expect(lines.filter((line) => line.startsWith("NONE="))).toEqual([]);
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^DATA_BASE_SERVICE_HOST=[0-9.]+$/),
        "DATA_BASE_SERVICE_PORT=5432",
        "DATA_BASE_SERVICE_PORT_SQL=5432",
        expect.stringMatching(/^DATA_BASE_PORT_5432_TCP=tcp:\/\/[0-9.]+:5432$/),
      ]),
    );
    expect((await exec(pod, "hostname; cat /etc/hosts")).split("\n")).toEqual(
      expect.arrayContaining(["environment", `${pod.status?.podIP}\tenvironment`]),
    );
  });

  test("hooks: postStart, and preStop before the stop signal, whatever each is", async () => {
    const { node } = host;
    const { lines, mount, volume } = await recorded("hooks");
    // Signals and requests come to who is there to hear them.
    const once = (condition: string) => `until ${condition}; do sleep 0.05; done`;
    const say = (word: string, condition = "true") => ({
      exec: { command: ["sh", "-c", `${once(condition)}; echo ${word} >> /records/hooks`] },
    });
    // Longer than the test waits: none ends by its being over.
    const terminationGracePeriodSeconds = 300;
    await node.run("hooks", {
      terminationGracePeriodSeconds,
      containers: [
        shell(
          "trap 'echo TERM >> /records/hooks; exit 0' TERM; touch /listens; while :; do sleep 0.1; done",
          {
            ...mount,
            lifecycle: { postStart: say("postStart", "test -e /listens"), preStop: say("preStop") },
          },
        ),
      ],
      ...volume,
    });
    await node.run("sleepy", {
      terminationGracePeriodSeconds,
      containers: [shell(untilTold, { lifecycle: { preStop: { sleep: { seconds: 2 } } } })],
    });
    // A server that answers once, to the hook, and only then lets the container end.
    const { lines: heard, ...asked } = await recorded("asked");
    const httpGet = { path: "/bye?from=hook", port: 8_080, httpHeaders: [{ name: "X-Word", value: "ciao" }] };
    const listening = { exec: { command: ["sh", "-c", once("grep -q :1F90 /proc/net/tcp /proc/net/tcp6")] } };
    await node.run("asked", {
      terminationGracePeriodSeconds,
      containers: [
        shell(
          `printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n' > /answer; while :; do nc -l -p 8080 < /answer >> /records/asked; done & trap 'echo TERM >> /records/asked; exit 0' TERM; while :; do sleep 0.1; done`,
          { ...asked.mount, lifecycle: { postStart: listening, preStop: { httpGet } } },
        ),
      ],
      ...asked.volume,
    });
    const names = ["hooks", "sleepy", "asked"];
    await Promise.all(names.map((name) => node.until(name, isReady)));
    expect(await lines()).toEqual(["postStart"]);
    const began = Date.now();
    for (const name of names) await node.client.delete("pods", { namespace: "default", name });
    await Promise.all(names.map((name) => node.untilGone(name)));
    const request = (await heard()).map((line) => line.trim());
    expect(request[0]).toBe("GET /bye?from=hook HTTP/1.1");
    expect(request.map((line) => line.toLowerCase())).toContain("x-word: ciao");
    expect(request.at(-1)).toBe("TERM");
    expect(await lines()).toEqual(["postStart", "preStop", "TERM"]);
    expect(Date.now() - began).toBeGreaterThan(2_000);
  });

  test("hooks: a postStart that fails ends the container, and it is started again", async () => {
    const { node } = host;
    const postStart = { exec: { command: ["sh", "-c", "echo no database; false"] } };
    await node.run("unhooked", { containers: [shell(untilTold, { lifecycle: { postStart } })] });
    const pod = await node.until("unhooked", (it) => (statusOf(it)?.restartCount ?? 0) > 0);
    expect(isReady(pod)).toBe(false);
    expect((await node.untilEvent("unhooked", /^PostStartHook failed/)).reason).toBe("FailedPostStartHook");
  });

  test("hooks: a postStart in whose middle the kubelet is restarted runs again, and Ready waits for its end", async () => {
    const { node } = host;
    const { lines, mount, volume } = await recorded("cut-off");
    const script = "echo begun >> /records/cut-off; until test -e /records/go; do sleep 0.1; done";
    const postStart = { exec: { command: ["sh", "-c", script] } };
    const history = await node.follow("cut-off");
    await node.run("cut-off", {
      containers: [shell(untilTold, { ...mount, lifecycle: { postStart } })],
      ...volume,
    });
    await expect.poll(lines).toEqual(["begun"]);
    const before = await node.until("cut-off", (pod) => statusOf(pod)?.state?.running !== undefined);
    node.kill();
    await node.start();
    await expect.poll(lines).toEqual(["begun", "begun"]);
    expect(history.versions.filter(isReady)).toEqual([]);
    await writeFile(join(records, "go"), "");
    const after = await node.until("cut-off", isReady);
    await history.stop();
    expect(statusOf(after)).toMatchObject({ restartCount: 0, containerID: statusOf(before)?.containerID });
    // What has ended is not begun once more.
    node.kill();
    await node.start();
    await node.run("later", { containers: [shell(untilTold)] });
    await node.until("later", isReady);
    expect(await lines()).toEqual(["begun", "begun"]);
  });

  test("init containers and sidecars start in order, and stop in the order back", async () => {
    const { node } = host;
    const { lines, mount, volume } = await recorded("order");
    const once = (name: string) => shell(`echo ${name} >> /records/order`, { name, ...mount });
    // What runs has not said so yet: the next one waits for a hook that sees it.
    const stays = (name: string, more: object = {}) =>
      shell(
        `trap 'echo ${name} down >> /records/order; exit 0' TERM; echo ${name} up >> /records/order; while :; do sleep 0.05; done`,
        {
          ...{ name, ...mount, ...more },
          lifecycle: {
            postStart: {
              exec: {
                command: ["sh", "-c", `until grep -q '${name} up' /records/order; do sleep 0.05; done`],
              },
            },
          },
        },
      );
    await node.run("ordered", {
      terminationGracePeriodSeconds: 20,
      initContainers: [
        once("first"),
        stays("proxy", { restartPolicy: "Always" }),
        once("second"),
        stays("logger", { restartPolicy: "Always" }),
      ],
      containers: [stays("main")],
      ...volume,
    });
    const pod = await node.until("ordered", isReady);
    expect(await lines()).toEqual(["first", "proxy up", "second", "logger up", "main up"]);
    expect(pod.status?.initContainerStatuses).toMatchObject([
      { name: "first", ready: true, state: { terminated: { exitCode: 0, reason: "Completed" } } },
      { name: "proxy", ready: true, started: true },
      { name: "second", ready: true },
      { name: "logger", ready: true, started: true },
    ]);
    await node.client.delete("pods", { namespace: "default", name: "ordered" });
    await node.untilGone("ordered");
    expect((await lines()).slice(5)).toEqual(["main down", "logger down", "proxy down"]);
  });

  test("an init container that fails is tried again, and ends the pod where nothing is restarted", async () => {
    const { node } = host;
    const failing = { name: "setup", image: busyboxImage, command: ["sh", "-c", "exit 4"] };
    const spec = { initContainers: [failing], containers: [shell(untilTold)] };
    await node.run("setup-again", spec);
    await node.run("setup-never", { ...spec, restartPolicy: "Never" });
    const ended = await node.until("setup-never", phaseIs("Failed"));
    expect(ended.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4);
    expect(statusOf(ended)?.state?.waiting?.reason).toBe("PodInitializing");
    const again = await node.until(
      "setup-again",
      (pod) => (pod.status?.initContainerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    expect(again.status?.phase).toBe("Pending");
    expect(conditionOf(again, "Initialized")).toMatchObject({
      status: "False",
      reason: "ContainersNotInitialized",
    });
  });

  test("restart policies, exit codes and termination messages", async () => {
    const { node } = host;
    const { mount, volume } = await recorded("policies");
    const run = (name: string, restartPolicy: string, script: string, more: object = {}) =>
      node.run(name, { restartPolicy, containers: [shell(script, { ...mount, ...more })], ...volume });
    await run("succeeds", "Never", "echo -n all well > /dev/termination-log");
    await run("fails", "Never", "echo on the way; echo out of cheese; exit 3", {
      terminationMessagePolicy: "FallbackToLogsOnError",
    });
    const once = "test -e /records/failed && exit 0; echo > /records/failed; exit 1";
    await run("second-time", "OnFailure", once);
    await run("for-ever", "Always", "exit 0");

    const succeeded = await node.until("succeeds", phaseIs("Succeeded"));
    expect(statusOf(succeeded)?.state?.terminated).toMatchObject({
      exitCode: 0,
      reason: "Completed",
      message: "all well",
    });
    expect(conditionOf(succeeded, "Ready")?.reason).toBe("PodCompleted");
    const failed = await node.until("fails", phaseIs("Failed"));
    expect(statusOf(failed)?.state?.terminated).toMatchObject({
      exitCode: 3,
      reason: "Error",
      message: "on the way\nout of cheese\n",
    });
    const second = await node.until("second-time", phaseIs("Succeeded"));
    expect(statusOf(second)).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 1 } },
      state: { terminated: { exitCode: 0 } },
    });
    const looping = await node.until(
      "for-ever",
      (pod) => statusOf(pod)?.state?.waiting?.reason === "CrashLoopBackOff",
    );
    expect(looping.status?.phase).toBe("Running");
    expect((await node.untilEvent("for-ever", /^Back-off restarting failed container c in pod/)).reason).toBe(
      "BackOff",
    );
  });

  test("a container that does not listen has its grace period, and then ends", async () => {
    const { node } = host;
    await node.run("deaf", {
      terminationGracePeriodSeconds: 3,
      containers: [shell("trap '' TERM; while :; do sleep 0.1; done")],
    });
    await node.until("deaf", isReady);
    const history = await node.follow("deaf");
    const began = Date.now();
    await node.client.delete("pods", { namespace: "default", name: "deaf" });
    await node.untilGone("deaf");
    expect(Date.now() - began).toBeGreaterThanOrEqual(3_000);
    await history.stop();
    const last = history.versions.at(-1) as Pod;
    expect(statusOf(last)?.state?.terminated?.exitCode).toBe(137);
  });

  test("activeDeadlineSeconds ends the pod, and says why", async () => {
    const { node } = host;
    await node.run("overdue", { activeDeadlineSeconds: 2, containers: [shell(untilTold)] });
    const pod = await node.until("overdue", phaseIs("Failed"));
    expect(pod.status).toMatchObject({
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
      containerStatuses: [{ ready: false, state: { terminated: {} } }],
    });
    const took = Date.parse(statusOf(pod)?.state?.terminated?.finishedAt ?? "");
    expect(took - Date.parse(pod.status?.startTime ?? "")).toBeGreaterThanOrEqual(2_000);
  });

  test("readiness gates: ready when the containers are and somebody else says so too", async () => {
    const { node } = host;
    const gate = "example.com/attached";
    await node.run("gated", { readinessGates: [{ conditionType: gate }], containers: [shell(untilTold)] });
    const waiting = await node.until(
      "gated",
      (pod) => conditionOf(pod, "ContainersReady")?.status === "True",
    );
    expect(conditionOf(waiting, "Ready")).toMatchObject({
      status: "False",
      reason: "ReadinessGatesNotReady",
    });
    const say = (status: string) =>
      node.client.patch(
        "pods",
        { namespace: "default", name: "gated" },
        {
          subresource: "status",
          patch: { kind: "strategic", body: { status: { conditions: [{ type: gate, status }] } } },
        },
      );
    await say("True");
    await node.until("gated", isReady, 5_000);
    await say("False");
    await node.until("gated", (pod) => !isReady(pod), 5_000);
  });

  test("a runtime class whose handler the runtime does not have keeps the pod waiting, with the reason", async () => {
    const { node } = host;
    await node.client.create("runtimeclasses", {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: "exotic" },
      handler: "nowhere",
    });
    await node.run("exotic", { runtimeClassName: "exotic", containers: [shell(untilTold)] });
    const event = await node.untilEvent("exotic", /^Failed to create pod sandbox: .*nowhere/);
    expect(event.reason).toBe("FailedCreatePodSandBox");
    const pod = await node.until(
      "exotic",
      (it) => conditionOf(it, "PodReadyToStartContainers")?.reason === "FailedCreatePodSandBox",
    );
    expect(pod.status?.phase).toBe("Pending");
  });

  test("a static pod: its mirror comes, comes back, follows the file and goes with it", async () => {
    const { node, runtime, exec } = host;
    const file = join(staticPodPath, "web.yaml");
    const name = "static-web-node-1";
    async function writePod(word: string): Promise<void> {
      const container = shell(untilTold, { env: [{ name: "WORD", value: word }] });
      const pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "static-web" },
        spec: { terminationGracePeriodSeconds: 1, containers: [container] },
      };
      await writeFile(`${staticPodPath}/.web.yaml`, JSON.stringify(pod));
      await rename(`${staticPodPath}/.web.yaml`, file);
    }
    const running = (pod: Pod) => isReady(pod) && statusOf(pod)?.state?.running !== undefined;
    await writePod("one");
    const first = await node.until(name, running);
    expect(first.metadata.ownerReferences).toMatchObject([{ kind: "Node", name: "node-1" }]);
    expect(first.metadata.annotations).toMatchObject({
      "kubernetes.io/config.source": "file",
      "kubernetes.io/config.mirror": expect.any(String),
    });
    expect(await exec(first, "echo $WORD")).toBe("one\n");

    // A mirror is only a picture: without it the pod runs on, and a new one is made.
    await node.client.delete("pods", { namespace: "default", name }, { gracePeriodSeconds: 0 });
    const again = await node.until(name, (pod) => pod.metadata.uid !== first.metadata.uid && running(pod));
    expect(containerIdOf(again)).toBe(containerIdOf(first));

    await writePod("two");
    const edited = await node.until(
      name,
      (pod) => running(pod) && containerIdOf(pod) !== containerIdOf(first),
    );
    expect(await exec(edited, "echo $WORD")).toBe("two\n");

    await rm(file);
    await node.untilGone(name);
    await expect
      .poll(
        async () => {
          const { containers } = await runtime.client.runtime.listContainers({ filter: undefined });
          return containers.some(({ labels }) => labels["io.kubernetes.pod.name"] === name);
        },
        { timeout: 20_000 },
      )
      .toBe(false);
  });
});

async function makeServiceAccount(
  client: ReturnType<typeof useRuntimeNode>["node"]["client"],
): Promise<void> {
  await client.create("serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "reader", namespace: "default" },
  });
}
