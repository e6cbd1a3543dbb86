import { afterEach, expect, test } from "vitest";
import { conditionOf, isTrue } from "../../src/api/meta/object-facts.ts";
import type { CronJob, Job } from "../../src/api/meta/objects.ts";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { makeJob } from "../support/manifests/job.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { eventually } from "../support/time/eventually.ts";

describeWithTool("kubectl", "a Job", () => {
  const cluster = useKubectlCluster();
  const getJob = (name: string) => cluster.client.get("jobs", { namespace: "default", name });
  const statusOf = async (name: string) => (await getJob(name)).status;
  const waitFor = (condition: string, name: string) =>
    cluster.kubectl.ok(`wait --for=condition=${condition} job/${name} --timeout=60s`);

  // The pods of a Job can be deleted only while its controller runs.
  afterEach(async () => {
    const selection = { namespace: "default", propagationPolicy: "Background" } as const;
    await cluster.client.deleteCollection("cronjobs", selection);
    await cluster.client.deleteCollection("jobs", selection);
    await eventually(async () => {
      const { items } = await cluster.client.list("pods", { namespace: "default" });
      return items.filter(({ metadata }) => metadata.finalizers);
    }).toEqual([]);
  });

  test("runs pods until it has its completions, and counts them", async () => {
    await cluster.apply(makeJob("first", { completions: 3, parallelism: 2 }));
    await waitFor("complete", "first");
    expect(await statusOf("first")).toMatchObject({ succeeded: 3, ready: 0, terminating: 0 });
    const pods = await cluster.pods("first");
    expect(pods.map(({ metadata }) => metadata.finalizers)).toEqual([undefined, undefined, undefined]);
    await eventually(() => cluster.messages("Job", "first")).toContain("Completed: Job completed");
    expect(await cluster.kubectl.ok("get job first")).toMatch(/^first +Complete +3\/3 /m);
    expect(await cluster.kubectl.ok("describe job first")).toMatch(
      /0 Active \(0 Ready\) \/ 3 Succeeded \/ 0 Failed/,
    );
  });

  test("gives each pod of an Indexed Job its index", async () => {
    await cluster.apply(makeJob("indexed", { completions: 2, parallelism: 2, completionMode: "Indexed" }));
    await waitFor("complete", "indexed");
    expect(await statusOf("indexed")).toMatchObject({ succeeded: 2, completedIndexes: "0,1" });
    const pods = await cluster.pods("indexed");
    expect(pods.map(({ spec }) => spec?.hostname).sort()).toEqual(["indexed-0", "indexed-1"]);
  });

  test("fails with the reason of the pod failure policy", async () => {
    const rule = { action: "FailJob", onExitCodes: { operator: "In", values: [42] } };
    await cluster.apply(
      makeJob("policy", { exit: "code=42 after=100ms", podFailurePolicy: { rules: [rule] } }),
    );
    await waitFor("failed", "policy");
    const job = await getJob("policy");
    expect(job.status?.failed).toBe(1);
    expect(conditionOf(job, "FailureTarget")?.reason).toBe("PodFailurePolicy");
    expect(conditionOf(job, "Failed")?.message).toMatch(
      /^Container main for pod default\/policy-\w+ failed with exit code 42 matching FailJob rule at index 0$/,
    );
  });

  test("is suspended and resumed", async () => {
    await cluster.apply(makeJob("paused", { exit: "code=0 after=1h" }));
    await eventually(() => statusOf("paused")).toMatchObject({ active: 1, ready: 1 });
    const suspend = (value: boolean) =>
      cluster.kubectl.ok(`patch job paused --type merge -p {"spec":{"suspend":${value}}}`);
    await suspend(true);
    await waitFor("suspended", "paused");
    await eventually(() => cluster.pods("paused")).toEqual([]);
    expect((await statusOf("paused"))?.startTime).toBeUndefined();
    await suspend(false);
    await eventually(() => statusOf("paused")).toMatchObject({ active: 1, startTime: expect.any(String) });
  });

  test("leaves its pods without finalizers when it is deleted alone", async () => {
    await cluster.apply(makeJob("gone", { exit: "code=0 after=1h" }));
    await eventually(() => statusOf("gone")).toMatchObject({ ready: 1 });
    await cluster.kubectl.ok("delete job gone --cascade=orphan");
    await eventually(async () =>
      (await cluster.pods("gone")).map(({ metadata }) => metadata.finalizers),
    ).toEqual([undefined]);
  });

  test("is deleted after its time to live", async () => {
    await cluster.apply(makeJob("short", { ttlSecondsAfterFinished: 0 }));
    await cluster.untilGone("jobs", "short");
    await eventually(() => cluster.pods("short")).toEqual([]);
  });

  test("is created by kubectl, also from a CronJob", async () => {
    const cronJob = {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "nightly" },
      spec: { schedule: "0 0 31 1 *", jobTemplate: { spec: makeJob("nightly").spec } },
    };
    await cluster.apply(cronJob);
    await cluster.kubectl.ok("create job now --from=cronjob/nightly");
    await waitFor("complete", "now");
    await cluster.kubectl.ok("create job plain --image=work:1 -- true");
    await eventually(() => statusOf("plain")).toMatchObject({ active: 1 });
    expect(await cluster.kubectl.ok("describe cronjob nightly")).toMatch(/Schedule: +0 0 31 1 \*/);
  });

  test("of a CronJob is created at its time, recorded and removed beyond the history limit", async () => {
    const owned = async () => {
      const { items } = await cluster.client.list("jobs", { namespace: "default" });
      return items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === "often");
    };
    const getCronJob = () => cluster.client.get("cronjobs", { namespace: "default", name: "often" });
    await cluster.apply({
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "often" },
      spec: {
        schedule: "@every 1s",
        successfulJobsHistoryLimit: 0,
        jobTemplate: { spec: makeJob("often").spec },
      },
    });
    await eventually(async (): Promise<CronJob["status"]> => (await getCronJob()).status).toMatchObject({
      lastScheduleTime: expect.any(String),
      lastSuccessfulTime: expect.any(String),
    });
    const messages = () => cluster.messages("CronJob", "often");
    for (const start of ["SuccessfulCreate: Created job often-", "SuccessfulDelete: Deleted job often-"]) {
      await eventually(async () => (await messages()).some((message) => message.startsWith(start))).toBe(
        true,
      );
    }
    await cluster.kubectl.ok("delete cronjob often");
    await eventually(async (): Promise<Job[]> => owned()).toEqual([]);
  });

  test("that another controller manages is left alone", async () => {
    await cluster.apply(makeJob("foreign", { managedBy: "example.com/other" }), makeJob("after"));
    await waitFor("complete", "after");
    expect(isTrue(await getJob("foreign"), "Complete")).toBe(false);
    expect(await cluster.pods("foreign")).toEqual([]);
  });
});
