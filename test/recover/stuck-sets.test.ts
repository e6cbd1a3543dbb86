import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { type RecoveryStep, recoverSet } from "../../src/recover/recover-set.ts";
import { breakages, stalledPull } from "../support/cluster/breakages.ts";
import { startTestScheduler } from "../support/cluster/run-controllers.ts";
import { readyPods, useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";

const cluster = useStatefulSetCluster({ kubelet: { config: { noProgressTimeout: 2 } } });

let stopScheduler: () => Promise<unknown> | unknown = () => {};
beforeAll(async () => {
  stopScheduler = await startTestScheduler(cluster.server.kubeconfig);
});
afterAll(() => stopScheduler());

const namespace = "default";
const signal = AbortSignal.timeout(300_000);

async function recover(name: string, { dryRun = false } = {}): Promise<readonly RecoveryStep[]> {
  const { client } = cluster;
  const options = { client, clock: systemClock, dryRun, policy: "always", graceMs: 300 } as const;
  const steps: RecoveryStep[] = [];
  for await (const step of recoverSet(options, { namespace, name }, signal)) steps.push(step);
  return steps;
}

describe("3541-13 kindling recover moves on a StatefulSet whose pod", () => {
  test.each(breakages)("%s", async (_, name, { annotations, spec }) => {
    cluster.given(stalledPull);
    await cluster.create(name, {
      replicas: 2,
      spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } } },
    });
    await cluster.patch(name, {
      metadata: { annotations: { "kindling.dev/progress-deadline-seconds": "3" } },
    });
    await cluster.untilPicture(name, readyPods(name, 2));
    const good = (await cluster.get(name)).spec?.template;
    await cluster.patch(name, { spec: { template: { metadata: { annotations }, spec } } });
    const isOld = async () => {
      const pods = await cluster.pods(name);
      return pods.at(-1)?.metadata.labels?.["controller-revision-hash"];
    };
    const first = await isOld();
    await cluster.until("the last pod is replaced by a broken one", async () => (await isOld()) !== first);

    // The template is fixed, and RollingUpdate stays stuck.
    await cluster.client.patch(
      "statefulsets",
      { namespace, name },
      { patch: { kind: "json", body: [{ op: "replace", path: "/spec/template", value: good }] } },
    );
    const stuck = async () => (await recover(name, { dryRun: true }))[0];
    await cluster.until("recover finds the set stuck", async () => {
      const step = await stuck();
      return step?.kind === "decided" && step.decision.kind === "evict";
    });
    const log = await cluster.followPods(name);
    const steps = await recover(name);
    expect(steps.map(({ kind }) => kind)).toEqual(["decided", "waiting", "evicted", "decided", "recovered"]);
    await cluster.untilPicture(name, readyPods(name, 2));
    await log.stop();
    // One eviction, and none of the healthy pod.
    expect(log.lines.filter((line) => line.startsWith("-"))).toEqual([expect.stringMatching(`^-${name}-1=`)]);
  });
});
