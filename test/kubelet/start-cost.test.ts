import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod } from "../../src/api/meta/objects.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";

const isReady = (pod: Pod) => conditionOf(pod, "Ready")?.status === "True";
const calls: string[] = [];
let simulated: SimulatedRuntime;
let node: KubeletNode;

/** The same service, with a note of each call. */
function noting<Service extends object>(service: Service): Service {
  return new Proxy(service, {
    get(target, name, receiver) {
      calls.push(String(name));
      return Reflect.get(target, name, receiver);
    },
  });
}

beforeAll(async () => {
  simulated = await startSimulatedRuntime({ logger: silentLogger, imagesPresent: true });
  const { runtime, images, close } = simulated.client;
  node = await startKubeletNode({ cri: { runtime: noting(runtime), images: noting(images), close } });
  // The first list of everything, and the one after the events are there.
  const lists = () => calls.filter((name) => name === "listContainers");
  await vi.waitFor(() => expect(lists()).toHaveLength(2), 60_000);
});
afterAll(async () => {
  await node?.close();
  await simulated?.close();
});

test("a pod start sends only the necessary requests to the runtime", async () => {
  const containers = ["a", "b"].map((name) => ({ name, image: "web:1" }));
  calls.length = 0;
  await node.run("cheap", { containers, dnsPolicy: "ClusterFirst" });
  await node.until("cheap", isReady);
  const ofStatus = ["podSandboxStatus", "containerStatus"];
  // The node's own status has nothing to do with it.
  expect(calls.filter((name) => name !== "status" && !ofStatus.includes(name))).toEqual([
    "runPodSandbox",
    // The first container's image: is it here, and who does it run as.
    "imageStatus",
    "imageStatus",
    "createContainer",
    "startContainer",
    "imageStatus",
    "createContainer",
    "startContainer",
  ]);
  // None where the events are quicker.
  expect(calls.filter((name) => ofStatus.includes(name)).length).toBeLessThanOrEqual(3);
});

test("an adjusted setting is reported once for the sandbox, not for each container", async () => {
  const events = async () =>
    (await node.events("cheap")).filter(({ reason }) => reason === "MissingClusterDNS");
  await expect.poll(events).toMatchObject([{ message: expect.stringContaining("ClusterDNS") }]);
  expect((await events())[0]?.count ?? 1).toBe(1);
});
