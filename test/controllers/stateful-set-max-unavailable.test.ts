import { expect, test } from "vitest";
import { readyPods, useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";
import { makePod } from "../support/manifests/pod.ts";

const cluster = useStatefulSetCluster();

const enforced = { updateStrategy: { type: "EnforcedRollingUpdate" } };
const command = { exec: { command: ["check"] }, periodSeconds: 1 };

/** Has the probes of a pod fail while it runs the image; returns a function that ends it. */
function failProbes(pod: string, image: string): () => void {
  let exitCode = 1;
  cluster.simulated.rules.add({ match: { pod, image }, container: { exec: () => ({ exitCode }) } });
  return () => {
    exitCode = 0;
  };
}

/** Changes the image, and waits until the controller has acted on it. */
async function changeTemplate(name: string, image: string): Promise<void> {
  const { metadata } = await cluster.setImage(name, image);
  await cluster.until("the controller has acted on it", async () => {
    const { status } = await cluster.get(name);
    return status?.observedGeneration === metadata.generation;
  });
}

const replacedByWeb3 = (name: string) => [
  `-${name}-2=web:2`,
  `+${name}-2=web:3`,
  `-${name}-1=web:2`,
  `+${name}-1=web:3`,
  `-${name}-0=web:1`,
  `+${name}-0=web:3`,
];

test.each([
  ["has not passed its readiness probe", "unready", { readinessProbe: command }],
  ["has some of its startup budget left", "slow", { startupProbe: { ...command, failureThreshold: 1_000 } }],
])("3541-11 a new template deletes no Ready pod while another one %s", async (_, name, container) => {
  const pass = failProbes(`${name}-1`, "web:2");
  await cluster.create(name, { spec: enforced, pod: { container } });
  await cluster.untilPicture(name, readyPods(name, 3));
  await cluster.setImage(name, "web:2");
  const starting = [`${name}-0=web:1 ready`, `${name}-1=web:2 waiting`, `${name}-2=web:2 ready`];
  await cluster.untilPicture(name, starting);
  const log = await cluster.followPods(name);
  await changeTemplate(name, "web:3");
  expect(await cluster.picture(name)).toEqual(starting);

  pass();
  await cluster.untilPicture(name, readyPods(name, 3, "web:3"));
  await log.stop();
  expect(log.lines).toEqual(replacedByWeb3(name));
});

test("3541-11 a pod whose startup budget is used up is broken: the update goes on in order", async () => {
  failProbes("spent-1", "web:2");
  await cluster.create("spent", {
    spec: enforced,
    pod: { container: { startupProbe: { ...command, failureThreshold: 1 } } },
  });
  await cluster.untilPicture("spent", readyPods("spent", 3));
  await cluster.setImage("spent", "web:2");
  await cluster.until("the container is restarted", async () => {
    const [, pod] = await cluster.pods("spent");
    return (pod?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0;
  });
  const log = await cluster.followPods("spent");
  await cluster.setImage("spent", "web:3");
  await cluster.untilPicture("spent", readyPods("spent", 3, "web:3"));
  await log.stop();
  expect(log.lines).toEqual(replacedByWeb3("spent"));
});

test("3541-11 a pod of an old revision that its kubelet rejects again and again does not hold up an update", async () => {
  const { status } = await cluster.client.get("nodes", { name: cluster.node.name });
  const freeMilliCpu = Number(status?.allocatable?.cpu) * 1_000;
  const containers = (image: string, milliCpu: number) => [
    { name: "c", image, resources: { requests: { cpu: `${milliCpu}m` } } },
  ];
  await cluster.create("refused", { spec: enforced, pod: { containers: containers("web:1", 200) } });
  await cluster.untilPicture("refused", readyPods("refused", 3));
  await cluster.stopControllers();
  await cluster.client.delete("pods", { namespace: "default", name: "refused-0" });
  await cluster.until("it is gone", async () => (await cluster.pods("refused")).length === 2);
  // No room is left for another pod of this template.
  const rest = containers("web:1", freeMilliCpu - 500);
  await cluster.client.create("pods", makePod("hog", { nodeName: cluster.node.name, containers: rest }));
  await cluster.until("it runs", async () => {
    const hog = await cluster.client.get("pods", { namespace: "default", name: "hog" });
    return hog.status?.phase === "Running";
  });
  const log = await cluster.followPods("refused");
  await cluster.startControllers();
  const template = { spec: { containers: containers("web:2", 1) } };
  await cluster.until("it comes and goes", async () => log.lines.length >= 4);
  await cluster.patch("refused", { spec: { template } });
  await cluster.untilPicture("refused", readyPods("refused", 3, "web:2"));
  await log.stop();
});
