import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makeStatefulSet } from "../support/manifests/workload.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";

const set = makeStatefulSet("counted", { replicas: 2 });

describeWithTool("kubectl", "the metrics of kindling up", () => {
  const folder = temporaryFolder();
  let up: UpProcess;
  const scrape = () => up.kubectl.ok("get --raw /metrics");

  beforeAll(async () => {
    up = await startUp(["--data-dir", folder, "--store", "memory", "--runtime", "simulated"]);
    await up.kubectl.ok("apply -f -", { input: JSON.stringify(set) });
    await up.kubectl.ok("rollout status statefulset/counted --timeout=60s");
  });
  afterAll(() => up?.kill("SIGTERM"));

  test("API server, controllers and scheduler, which are one process, are at one place", async () => {
    const labels = `statefulset_namespace="default",statefulset_name="counted",pod_management_policy="OrderedReady"`;
    // What is ready in the API may be news to the controllers.
    await expect
      .poll(scrape)
      .toContain(`\nstatefulset_controller_statefulset_unavailable_replicas{${labels}} 0\n`);
    const text = await scrape();
    expect(text).toMatch(/^apiserver_request_total\{.*resource="statefulsets".*\} \d+$/m);
    expect(text).toMatch(/^workqueue_adds_total\{name="statefulset"\} [1-9]\d*$/m);
    expect(text).toMatch(
      /^scheduler_schedule_attempts_total\{result="scheduled",profile="default-scheduler"\} 2$/m,
    );
    expect(text).toMatch(/^scheduler_pending_pods\{queue="active"\} 0$/m);
  });

  test("no metric is exposed twice", async () => {
    const names = Array.from((await scrape()).matchAll(/^# TYPE (\S+) /gm), ([, name]) => name);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  describeWithTool("promtool", "promtool", () => {
    test("reports no problems", async () => {
      // Node's own have the names that they have in every program.
      const input = (await scrape()).replace(/^.*\bnodejs_active_.*\n/gm, "");
      expect(execFileSync(toolPath("promtool"), ["check", "metrics"], { input }).toString()).toBe("");
    });
  });
});
