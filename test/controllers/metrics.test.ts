import { get } from "node:http";
import { afterAll, expect, test } from "vitest";
import { useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";
import { makePod, type PodSpecFields } from "../support/manifests/pod.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";

const cluster = useStatefulSetCluster({ controllers: false });
const started = new Set<KindlingRun>();
afterAll(() => {
  for (const run of started) run.child.kill("SIGKILL");
});

async function start(command: string, ...flags: string[]): Promise<KindlingRun> {
  const run = await runKindling([command, "--kubeconfig", cluster.server.kubeconfig, ...flags]);
  started.add(run);
  void run.exit.then(() => started.delete(run));
  return run;
}

async function addressOf(run: KindlingRun): Promise<string> {
  const find = () => /^metrics: (http:\S+)\/metrics$/m.exec(run.output.stdout)?.[1];
  await cluster.until("it says where", async () => find() !== undefined);
  return find() ?? "";
}

async function scrape(run: KindlingRun): Promise<string> {
  const response = await fetch(`${await addressOf(run)}/metrics`);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return response.text();
}

const readValue = (text: string, series: string) =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

async function untilValue(run: KindlingRun, series: string, is: (value: number) => boolean): Promise<void> {
  await cluster.until(series, async () => is(readValue(await scrape(run), series)));
}

test("controllers expose metrics of queues, sets, requests and leader election", async () => {
  const listen = ["--metrics-listen", "127.0.0.1:0"];
  const leader = await start("controller-manager", ...listen);
  const leads = 'leader_election_master_status{name="kube-controller-manager"}';
  await untilValue(leader, leads, (value) => value === 1);
  const second = await start("controller-manager", ...listen);
  expect(readValue(await scrape(second), leads)).toBe(0);

  await cluster.create("counted", { replicas: 2 });
  await cluster.untilPicture("counted", ["counted-0=web:1 ready", "counted-1=web:1 ready"]);
  const set = `statefulset_namespace="default",statefulset_name="counted",pod_management_policy="OrderedReady"`;
  const unavailable = `statefulset_controller_statefulset_unavailable_replicas{${set}}`;
  await untilValue(leader, unavailable, (value) => value === 0);
  const text = await scrape(leader);
  expect(readValue(text, `statefulset_controller_statefulset_max_unavailable{${set}}`)).toBe(1);
  for (const name of ["statefulset", "replicaset", "endpoint-slice", "garbage-collector"]) {
    expect(text).toContain(`workqueue_depth{name="${name}"}`);
  }
  expect(readValue(text, 'workqueue_adds_total{name="statefulset"}')).toBeGreaterThan(2);
  expect(readValue(text, 'workqueue_work_duration_seconds_count{name="statefulset"}')).toBeGreaterThan(2);
  const { host } = new URL(cluster.server.url);
  expect(
    readValue(text, `rest_client_requests_total{code="201",method="POST",host="${host}"}`),
  ).toBeGreaterThan(1);

  expect(await (await fetch(`${await addressOf(leader)}/healthz`)).text()).toBe("ok\n");
  expect((await fetch(`${await addressOf(leader)}/nothing`)).status).toBe(404);
  expect((await fetch(`${await addressOf(leader)}/metrics`, { method: "POST" })).status).toBe(405);
  expect(await statusAs("evil.example.com", await addressOf(leader))).toBe(403);
  for (const run of [leader, second]) {
    run.child.kill("SIGTERM");
    expect(await run.exit).toBe(0);
  }
});

/** Request of a web page whose host name was rebound to this address. */
function statusAs(host: string, url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(`${url}/metrics`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).once("error", reject);
  });
}

test("the scheduler exposes metrics of pending pods and scheduling attempts", async () => {
  const run = await start("scheduler", "--metrics-listen", "127.0.0.1:0");
  const create = (name: string, spec: PodSpecFields) => cluster.client.create("pods", makePod(name, spec));
  await create("gated", { schedulingGates: [{ name: "example.com/wait" }] });
  await create("nowhere", { nodeSelector: { no: "such" } });
  // Whatever the node was thought of before.
  await create("somewhere", { tolerations: [{ operator: "Exists" }] });
  const attempts = (result: string) =>
    `scheduler_schedule_attempts_total{result="${result}",profile="default-scheduler"}`;
  await untilValue(run, attempts("scheduled"), (value) => value === 1);
  await untilValue(run, attempts("unschedulable"), (value) => value >= 1);
  await untilValue(run, 'scheduler_pending_pods{queue="gated"}', (value) => value === 1);
  await untilValue(run, 'scheduler_pending_pods{queue="unschedulable"}', (value) => value === 1);
  const text = await scrape(run);
  expect(text).toMatch(/^scheduler_pod_scheduling_sli_duration_seconds_count\{attempts="\d+"\} 1$/m);
  run.child.kill("SIGTERM");
  expect(await run.exit).toBe(0);
});
