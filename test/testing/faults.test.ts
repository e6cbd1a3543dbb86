import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { TransportError } from "../../src/client/transport/transport.ts";
import { startCluster, type TestCluster } from "../../src/testing/start-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startCluster({ handlers: ["kata"] });
});
afterAll(() => cluster?.close());

async function run(name: string, spec: Partial<NonNullable<Pod["spec"]>> = {}) {
  const containers = [{ name: "c", image: "web:1" }];
  await cluster.client.create("pods", { metadata: { name }, spec: { containers, ...spec } });
}

const untilSaid = (name: string, condition: string, says: RegExp) =>
  cluster.client.waitFor("pods", name, ({ status }) => {
    const found = status?.conditions?.find(({ type }) => type === condition);
    return found?.status === "False" && says.test(found.message ?? "");
  });

const waitingReason = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting?.reason;

test("volumes: failing, then slow, then working", async () => {
  const { client, clock, faults } = cluster;
  const slow = faults.slowVolume({ pod: "volumes", volume: "data" }, "10m");
  const failing = faults.failVolume({ pod: "volumes", volume: "data" }, "the disk is on fire");
  failing.end();
  const broken = faults.failVolume({ pod: "volumes", volume: "da?a" }, "the disk is on fire");
  slow.end();
  await run("volumes", {
    volumes: [{ name: "data", emptyDir: {} }],
    containers: [{ name: "c", image: "web:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
  });
  await untilSaid(
    "volumes",
    "PodReadyToStartContainers",
    /MountVolume.SetUp failed for volume "data" : the disk is on fire/,
  );
  faults.slowVolume({ pod: "volumes" }, "2m");
  broken.end();
  await clock.advance("1m");
  expect((await client.get("pods", "volumes")).status?.phase).toBe("Pending");
  await clock.advance("10m");
  await client.waitFor("pods", "volumes", "Ready");
});

test("network: failing, then working; slow", async () => {
  const { client, clock, faults } = cluster;
  const failing = faults.failNetwork({ pod: "network" }, "no free addresses");
  await run("network");
  await untilSaid("network", "PodReadyToStartContainers", /no free addresses/);
  expect(await client.why("network")).toMatchObject({ stage: "sandbox" });
  failing.end();
  await clock.advance("1m");
  await client.waitFor("pods", "network", "Ready");

  faults.slowNetwork({ pod: "slow-network" }, "30s");
  await run("slow-network");
  await client.waitFor("pods", "slow-network", "PodReadyToStartContainers=False");
  await clock.advance("31s");
  await client.waitFor("pods", "slow-network", "Ready");
});

test("a runtime handler", async () => {
  const { client, clock, faults } = cluster;
  await client.create("runtimeclasses", { metadata: { name: "sandboxed" }, handler: "kata" });
  const failing = faults.failHandler("kata", "no room for another machine");
  await run("handled", { runtimeClassName: "sandboxed" });
  await run("plain");
  await client.waitFor("pods", "plain", "Ready");
  await untilSaid("handled", "PodReadyToStartContainers", /no room for another machine/);
  failing.end();
  const slow = faults.slowHandler("kata", "20s");
  await clock.advance("2m");
  slow.end();
  await client.waitFor("pods", "handled", "Ready");
});

test("a stalled pull times out, is reported, and succeeds when the registry recovers", async () => {
  const { client, clock, faults } = cluster;
  const stall = faults.stallPull({ image: "*stalling*" }, { size: "100Mi", at: "40Mi" });
  await run("stalling", { containers: [{ name: "c", image: "stalling:1" }] });
  await client.waitFor("pods", "stalling", ({ status }) => status?.containerStatuses?.length === 1);
  await expect.poll(async () => (await client.why("stalling")).because).toContain("40 of 100 MiB");
  await clock.advance("12s");
  const failed = await client.waitFor("pods", "stalling", (pod) =>
    /ErrImagePull|ImagePullBackOff/.test(waitingReason(pod) ?? ""),
  );
  expect(failed.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain("progress");
  stall.end();
  await clock.advance("1m");
  await client.waitFor("pods", "stalling", "Ready");
});

test("a slow pull reports progress; a failed pull reports the reason", async () => {
  const { client, clock, faults } = cluster;
  faults.slowPull({ image: "*large*" }, { size: "600Mi", rate: "1Mi", layers: 3 });
  await run("large", { containers: [{ name: "c", image: "large:1" }] });
  await client.waitFor("pods", "large", ({ status }) => status?.containerStatuses?.length === 1);
  await clock.advance("5m");
  await expect
    .poll(() => client.why("large"))
    .toMatchObject({
      stage: "pulling",
      because: expect.stringMatching(/large:1 is being pulled: (29|3\d)\d of 600 MiB/),
    });
  await clock.advance("6m");
  await client.waitFor("pods", "large", "Ready");

  faults.failPull({ image: "*secret*" }, { reason: "unauthorized" });
  await run("secret", { containers: [{ name: "c", image: "secret:1" }] });
  const refused = await client.waitFor("pods", "secret", (pod) =>
    /ErrImagePull|ImagePullBackOff/.test(waitingReason(pod) ?? ""),
  );
  expect(refused.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain("unauthorized");
});

test("containers exit: by a crash, on demand, with their sandbox, at a reboot", async () => {
  const { client, clock, faults } = cluster;
  using fault = faults.failStart({ pod: "ending", container: "c" }, "no such program");
  await run("ending");
  await client.waitFor("pods", "ending", (pod) => waitingReason(pod) === "CrashLoopBackOff");
  fault.end();
  await clock.advance("1m");
  await client.waitFor("pods", "ending", "Ready");

  const endings = [
    () => faults.exitContainer("ending", { container: "c", exitCode: 42 }),
    () => faults.killSandbox("ending"),
    async () => faults.rebootNode("node-1"),
  ];
  const codes: (number | undefined)[] = [];
  for (const end of endings) {
    const before = (await client.get("pods", "ending")).status?.containerStatuses?.[0]?.restartCount ?? 0;
    await end();
    // Long enough for the longest back-off and for the kubelet's look at what it has missed.
    await clock.advance("6m");
    const { status } = await client.waitFor(
      "pods",
      "ending",
      ({ status }) =>
        status?.containerStatuses?.[0]?.ready === true && status.containerStatuses[0].restartCount > before,
    );
    codes.push(status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode);
  }
  expect(codes).toEqual([42, 137, 255]);
  await expect(faults.exitContainer("ending", { container: "x", exitCode: 1 })).rejects.toThrow(
    "no running container x",
  );
});

test("a failing readiness probe: not ready while it fails, without a restart", async () => {
  const { client, clock, faults } = cluster;
  const readinessProbe = { tcpSocket: { port: 80 }, periodSeconds: 5, failureThreshold: 1 };
  await run("serving", {
    containers: [{ name: "c", image: "web:1", readinessProbe, livenessProbe: readinessProbe }],
  });
  await client.waitFor("pods", "serving", "Ready");
  const fault = faults.failProbe({ pod: "serving", probe: "readiness" });
  await clock.advance("30s");
  await client.waitFor("pods", "serving", "Ready=False");
  fault.end();
  await clock.advance("30s");
  const { status } = await client.waitFor("pods", "serving", "Ready");
  expect(status?.containerStatuses?.[0]?.restartCount).toBe(0);
});

test("an outage of the API: clients fail, waits and pods continue", async () => {
  const { client, clock, faults } = cluster;
  await run("going-on");
  await client.waitFor("pods", "going-on", "Ready");
  const outage = await faults.apiOutage();
  await expect(client.list("pods")).rejects.toThrow(TransportError);
  const waiting = client.waitFor(
    "pods",
    "going-on",
    ({ status }) => status?.containerStatuses?.[0]?.restartCount === 1,
  );
  await outage.end();
  await faults.exitContainer("going-on", { container: "c", exitCode: 1 });
  await clock.advance("1m");
  await waiting;
  await client.waitFor("nodes", "node-1", "Ready");
});

test("an outage of the runtime: its node is not ready until it is over", async () => {
  const { client, clock, faults } = cluster;
  {
    await using _outage = await faults.runtimeOutage("node-1");
    await clock.advance("1m");
    await client.waitFor("nodes", "node-1", "Ready=False");
  }
  await clock.advance("1m");
  await client.waitFor("nodes", "node-1", "Ready");
});

test("errors name the wrong argument", async () => {
  const { faults } = cluster;
  expect(() => faults.slowPull({}, { size: "big", rate: 1 })).toThrow('size: "big" is not a size');
  expect(() => faults.slowNetwork({}, "long")).toThrow('delay: "long" is not a duration');
  await expect(faults.nodeOutage("node-9")).rejects.toThrow(
    'node "node-9" does not exist; the nodes are node-1',
  );
});
