import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Pod } from "../../../src/api/meta/objects.ts";
import { makePod } from "../../../src/kubelet/containers/make-pod.fixture.ts";
import { createTestProber, observedPod } from "../../../src/kubelet/model/prober.fixture.ts";
import { startCluster } from "../../../src/testing/start-cluster.ts";

const page = readFileSync(new URL("../../../docs/probes.md", import.meta.url), "utf8");
const [, manifest = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];

test("950-5 the documented example survives a slow start and is killed promptly when it hangs later", async () => {
  const { metadata, spec } = parse(manifest);
  const pod = makePod(spec, { ...metadata, namespace: "default", uid: "u-1" });
  let up = false;
  const { prober, clock } = createTestProber(() =>
    up ? { kind: "success" } : { kind: "failure", output: "" },
  );
  prober.observe(pod, observedPod(pod, [{ id: "a", name: "app" }]));

  await clock.advance(285_000);
  expect(prober.probeResult(pod, "a")).toEqual({ started: false, ready: false });
  expect(prober.startupBudget("a")?.text).toBe("29 of 30 failures, at most 5 s left");
  up = true;
  await clock.advance(5_000);
  expect(prober.probeResult(pod, "a")).toEqual({ started: true, ready: true });
  up = false;
  await clock.advance(10_000);
  expect(prober.probeResult(pod, "a").kill?.message).toBe(
    "Container app failed liveness probe, will be restarted",
  );
});

test("950-3 the documented example is killed when it has not started after five minutes", async () => {
  const { metadata, spec } = parse(manifest);
  const pod = makePod(spec, { ...metadata, uid: "u-1" });
  const { prober, clock } = createTestProber(() => ({ kind: "failure", output: "" }));
  prober.observe(pod, observedPod(pod, [{ id: "a", name: "app" }]));
  await clock.advance(289_999);
  expect(prober.probeResult(pod, "a").kill).toBeUndefined();
  await clock.advance(1);
  expect(prober.probeResult(pod, "a").kill?.probe).toBe("startup");
});

test("the documented example in a cluster: kept while it starts slowly, restarted soon after it hangs", async () => {
  await using cluster = await startCluster();
  const { client, clock, faults } = cluster;
  const refused = faults.failProbe({ pod: "slow-starter", probe: "startup" }, "connection refused");
  const { metadata } = await client.create("pods", parse(manifest));
  const name = metadata.name ?? "";
  const statusOf = ({ status }: Pod) => status?.containerStatuses?.[0];
  await client.waitFor("pods", name, (pod) => statusOf(pod)?.state?.running !== undefined);
  await clock.advance("4m");
  expect(statusOf(await client.get("pods", name))).toMatchObject({ started: false, restartCount: 0 });

  refused.end();
  await clock.advance("10s");
  await client.waitFor("pods", name, "Ready");
  const hang = faults.failProbe({ pod: "slow-starter", probe: "liveness" }, "context deadline exceeded");
  await clock.advance("10s");
  await client.waitFor("pods", name, (pod) => statusOf(pod)?.restartCount === 1);
  hang.end();
  const messages = async () => {
    const events = await client.list("events", { fieldSelector: `involvedObject.name=${name}` });
    return events.map(({ message }) => message);
  };
  await expect
    .poll(messages)
    .toEqual(
      expect.arrayContaining([
        "Startup probe failed: connection refused",
        "Container app has not started: 15 of 30 failures, at most 150 s left",
        "Liveness probe failed: context deadline exceeded",
        "Container app failed liveness probe, will be restarted",
      ]),
    );
});
