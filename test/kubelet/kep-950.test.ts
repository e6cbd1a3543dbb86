import { createServer as createHttpServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod } from "../../src/api/meta/objects.ts";
import { createSelfSigned } from "../../src/lib/x509/certificate.ts";
import { probed, shell, untilTold, useRuntimeNode } from "../support/node/runtime-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
const isRunning = (pod: Pod) => statusOf(pod)?.state?.running !== undefined;
const isStarted = (pod: Pod) => statusOf(pod)?.started === true;
const hasRestarted = (pod: Pod) => statusOf(pod)?.restartCount === 1;
const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

describeWithTool("busybox", "KEP-950 startupProbe on real containers", () => {
  const host = useRuntimeNode({ driver: "host" });
  const says = (word: string, then = "true") => ({
    exec: { command: ["sh", "-c", `echo ${word} >> /tmp/asked; ${then}`] },
    periodSeconds: 1,
    timeoutSeconds: 30,
    failureThreshold: 60,
  });
  const onceUp = "test -e /tmp/up";

  test("950-1 without a startup probe a container is started at once", async () => {
    const { node } = host;
    const history = await node.follow("plain");
    await node.run("plain", { containers: [shell(untilTold)] });
    await node.until("plain", isReady);
    await history.stop();
    expect(history.versions.filter(isRunning).map(isStarted)).not.toContain(false);
  });

  test("950-2 liveness and readiness wait until it has started; the startup probe stops then", async () => {
    const { node, exec } = host;
    await node.run("asked", {
      containers: [
        shell(untilTold, {
          startupProbe: says("startup", onceUp),
          livenessProbe: says("liveness"),
          readinessProbe: says("readiness"),
        }),
      ],
    });
    const running = await node.until("asked", isRunning);
    const asked = async () => (await exec(running, "cat /tmp/asked")).trim().split("\n");
    await expect.poll(async () => (await asked()).length).toBeGreaterThan(2);
    expect(new Set(await asked())).toEqual(new Set(["startup"]));
    expect(isReady((await node.get("asked")) as Pod)).toBe(false);
    await exec(running, "echo > /tmp/up");
    await node.until("asked", isReady);
    await expect.poll(async () => (await asked()).length).toBeGreaterThan(8);
    const words = await asked();
    const after = words.slice(words.lastIndexOf("startup") + 1);
    expect(words.slice(0, words.length - after.length)).not.toContain("liveness");
    expect(words.slice(0, words.length - after.length)).not.toContain("readiness");
    expect(new Set(after)).toEqual(new Set(["liveness", "readiness"]));
  });

  test("950-3 failureThreshold failures: killed and restarted, with the event a liveness kill has", async () => {
    const { node } = host;
    const startupProbe = {
      exec: { command: ["sh", "-c", "echo not yet; false"] },
      periodSeconds: 1,
      timeoutSeconds: 30,
      failureThreshold: 2,
    };
    const container = shell("trap 'exit 3' TERM; while :; do sleep 0.1; done", { startupProbe });
    await node.run("failing", { containers: [container] });
    await node.run("failing-once", { containers: [container], restartPolicy: "Never" });
    const restarted = await node.until("failing", hasRestarted);
    expect(statusOf(restarted)).toMatchObject({ ready: false, started: false });
    expect((await node.untilEvent("failing", /failed startup probe/)).message).toBe(
      "Container c failed startup probe, will be restarted",
    );
    const unhealthy = await node.untilEvent("failing", /^Startup probe failed/);
    expect(unhealthy).toMatchObject({
      type: "Warning",
      reason: "Unhealthy",
      message: "Startup probe failed: not yet\n",
    });
    const killing = (await node.events("failing")).find(({ reason }) => reason === "Killing");
    expect(killing).toMatchObject({ type: "Normal", involvedObject: { fieldPath: "spec.containers{c}" } });
    const ended = await node.until("failing-once", (pod) => pod.status?.phase === "Failed");
    expect(statusOf(ended)?.restartCount).toBe(0);
  });

  test("950-5 the proposal's case: liveness alone kills a slow container; a startup probe keeps it, and it is killed promptly when it deadlocks later", async () => {
    const { node, exec } = host;
    const liveness = {
      exec: { command: ["cat", "/tmp/up"] },
      periodSeconds: 1,
      timeoutSeconds: 30,
      failureThreshold: 1,
    };
    const slow = `sleep 4; echo > /tmp/up; ${untilTold}`;
    await node.run("killed", { containers: [shell(slow, { livenessProbe: liveness })] });
    await node.run("kept", {
      containers: [
        shell(slow, { livenessProbe: liveness, startupProbe: { ...liveness, failureThreshold: 600 } }),
      ],
    });
    await node.until("killed", hasRestarted);
    expect((await node.untilEvent("killed", /failed liveness probe/)).message).toBe(
      "Container c failed liveness probe, will be restarted",
    );
    const up = await node.until("kept", isReady);
    expect(statusOf(up)?.restartCount).toBe(0);
    // The startup probe would have allowed ten minutes: they are not waited for now.
    await exec(up, "busybox rm /tmp/up");
    await node.untilEvent("kept", /failed liveness probe, will be restarted/);
    const again = await node.until("kept", hasRestarted);
    expect(statusOf(again)?.lastState?.terminated).toBeDefined();
  });

  test("950-6 a kubelet restart during startup neither marks a container as started nor resets a started one", async () => {
    const { node, exec } = host;
    const startupProbe = says("startup", onceUp);
    await node.run("midway", { containers: [shell(untilTold, { startupProbe })] });
    await node.run("settled", {
      containers: [shell(untilTold, { startupProbe, readinessProbe: says("readiness") })],
    });
    await exec(await node.until("settled", isRunning), "echo > /tmp/up");
    const settled = await node.until("settled", isReady);
    const midway = await node.until("midway", isRunning);
    const histories = await Promise.all([node.follow("midway"), node.follow("settled")]);
    const timesAsked = async (pod: Pod) => (await exec(pod, "cat /tmp/asked")).length;
    for (let restarts = 0; restarts < 2; restarts++) {
      node.kill();
      const before = await Promise.all([midway, settled].map(timesAsked));
      await node.start();
      // More than one: an event may have been in progress when the kubelet was killed.
      const enough = 2 * "readiness\n".length;
      await expect.poll(() => timesAsked(midway)).toBeGreaterThan((before[0] ?? 0) + enough);
      await expect.poll(() => timesAsked(settled)).toBeGreaterThan((before[1] ?? 0) + enough);
    }
    await Promise.all(histories.map((history) => history.stop()));
    const [ofMidway, ofSettled] = histories.map(({ versions }) => versions);
    expect(ofMidway?.filter((pod) => isStarted(pod) || isReady(pod))).toEqual([]);
    expect(ofSettled?.filter((pod) => !isStarted(pod) || !isReady(pod))).toEqual([]);
    expect(statusOf((await node.get("settled")) as Pod)).toEqual(statusOf(settled));
    await exec(midway, "echo > /tmp/up");
    const started = await node.until("midway", isReady);
    expect(statusOf(started)).toMatchObject({
      restartCount: 0,
      containerID: statusOf(midway)?.containerID,
    });
  });

  test("950-7 a sidecar is probed at its named port, and other containers wait until it has started", async () => {
    const { node, exec } = host;
    const asking = { httpGet: { port: "admin", path: "/index.html" } };
    const ports = [{ name: "admin", containerPort: 9901 }];
    const serving = "until [ -e /tmp/go ]; do sleep 0.1; done; exec httpd -f -p 9901 -h /srv";
    await node.run("beside", {
      initContainers: [probed(asking, serving, { name: "side", restartPolicy: "Always", ports })],
      // The same host name, where nothing listens.
      containers: [shell(untilTold, { ports: [{ name: "admin", containerPort: 9902 }] })],
    });
    const failed = await node.untilEvent("beside", /^Startup probe failed: Get "http:\/\/[\d.]+:9901\//);
    expect(failed.involvedObject.fieldPath).toBe("spec.initContainers{side}");
    const waiting = await node.until("beside", ({ status }) =>
      Boolean(status?.initContainerStatuses?.length),
    );
    expect(waiting.status?.initContainerStatuses?.[0]).toMatchObject({ started: false, ready: false });
    expect(statusOf(waiting)?.state?.waiting?.reason).toBe("PodInitializing");
    await exec(waiting, "echo > /tmp/go", "side");
    const ready = await node.until("beside", isReady);
    expect(ready.status?.initContainerStatuses?.[0]).toMatchObject({ started: true, ready: true });
  });

  test("950-7 a postStart hook does not delay probes", async () => {
    const { node, exec } = host;
    // It ends only when a probe has been there meanwhile.
    const wait = "until grep -q startup /tmp/asked; do sleep 0.1; done; echo hook >> /tmp/asked";
    const hook = { exec: { command: ["sh", "-c", wait] } };
    await node.run("hooked", {
      containers: [
        shell(untilTold, { lifecycle: { postStart: hook }, startupProbe: says("startup", onceUp) }),
      ],
    });
    const pod = await node.until("hooked", isRunning);
    await expect.poll(() => exec(pod, "cat /tmp/asked")).toContain("hook");
    expect((await exec(pod, "cat /tmp/asked")).split("\n")[0]).toBe("startup");
  });

  test("950-9 an exhausted startup budget kills the container while its postStart hook runs", async () => {
    const { node } = host;
    const postStart = { exec: { command: ["sh", "-c", "sleep 600"] } };
    const startupProbe = { ...says("startup", "false"), failureThreshold: 2 };
    const listening = "trap 'exit 3' TERM; while :; do sleep 0.1; done";
    await node.run("hook-hangs", {
      containers: [shell(listening, { lifecycle: { postStart }, startupProbe })],
    });
    const restarted = await node.until("hook-hangs", hasRestarted);
    expect(statusOf(restarted)?.lastState?.terminated?.exitCode).toBe(3);
    const events = await node.events("hook-hangs");
    const messages = events.filter(({ reason }) => reason === "Killing").map(({ message }) => message);
    expect(messages).toEqual(["Container c failed startup probe, will be restarted"]);
    expect(events.map(({ reason }) => reason)).not.toContain("FailedPostStartHook");
    await node.client.delete("pods", { namespace: "default", name: "hook-hangs" }, { gracePeriodSeconds: 1 });
  });

  test("950-7 a probe's own grace period, for a container that does not listen", async () => {
    const { node, exec } = host;
    const deaf = `echo > /tmp/up; trap '' TERM; while :; do sleep 0.1; done`;
    await node.run("deaf", {
      terminationGracePeriodSeconds: 60,
      containers: [
        shell(deaf, {
          livenessProbe: {
            exec: { command: ["cat", "/tmp/up"] },
            periodSeconds: 1,
            timeoutSeconds: 30,
            failureThreshold: 1,
            terminationGracePeriodSeconds: 1,
          },
        }),
      ],
    });
    await exec(await node.until("deaf", isReady), "busybox rm /tmp/up");
    const restarted = await node.until("deaf", hasRestarted);
    expect(statusOf(restarted)?.lastState?.terminated?.exitCode).toBe(137);
    await node.client.delete("pods", { namespace: "default", name: "deaf" }, { gracePeriodSeconds: 1 });
  });

  test("950-7 HTTPS with a self-signed certificate, headers, and the user agent of probes", async () => {
    const { node } = host;
    const seen = new Set<string | undefined>();
    const pair = createSelfSigned({
      subject: { commonName: "probed" },
      hosts: ["127.0.0.1"],
      now: Date.now(),
    });
    const port = await listen(
      createHttpsServer(pair, (request, response) => {
        seen.add(request.headers["user-agent"]);
        response.writeHead(request.headers["x-probe"] === "yes" ? 200 : 503).end();
      }),
    );
    const httpGet = { host: "127.0.0.1", port, scheme: "HTTPS", path: "/healthz" };
    const httpHeaders = [{ name: "X-Probe", value: "yes" }];
    await node.run("https", {
      containers: [probed({ httpGet: { ...httpGet, httpHeaders } }, untilTold)],
    });
    await node.run("https-without", { containers: [probed({ httpGet }, untilTold)] });
    await node.until("https", isReady);
    await node.untilEvent("https-without", /^Startup probe failed: HTTP probe failed with statuscode: 503/);
    expect([...seen]).toEqual([expect.stringMatching(/^kube-probe\/1\./)]);
  });

  test("Ready follows the first success of a readiness probe at once, and a startup probe's where there is no other", async () => {
    const { node } = host;
    const asked: string[] = [];
    const port = await listen(
      createHttpServer(((request, response) => {
        asked.push(request.url ?? "");
        response.end();
      }) satisfies RequestListener),
    );
    // The next one would be later than this test waits; that no time passes at all is shown with the pod's worker.
    const asking = (path: string) => ({ httpGet: { host: "127.0.0.1", port, path }, periodSeconds: 120 });
    await node.run("soon-ready", {
      containers: [shell(untilTold, { readinessProbe: asking("/readiness") })],
    });
    await node.run("soon-started", { containers: [shell(untilTold, { startupProbe: asking("/startup") })] });
    for (const name of ["soon-ready", "soon-started"]) await node.until(name, isReady);
    expect(asked.sort()).toEqual(["/readiness", "/startup"]);
  });

  test("950-8 gate off in the kubelet: not probed, and started at once", async () => {
    const { node } = host;
    await node.stop();
    await node.start({ features: { StartupProbeEnabled: false } });
    const never = probed({ exec: { command: ["false"] } }, untilTold, { livenessProbe: says("liveness") });
    await node.run("gated", { containers: [never] });
    const pod = await node.until("gated", isReady);
    expect(statusOf(pod)).toMatchObject({ started: true, ready: true });
    expect(pod.spec?.containers[0]?.startupProbe).toBeDefined();
    expect(conditionOf(pod, "ContainersReady")?.status).toBe("True");
    await node.stop();
    await node.start();
  });
});

async function listen(server: Server): Promise<number> {
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
