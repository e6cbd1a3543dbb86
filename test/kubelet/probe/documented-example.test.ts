import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { makePod } from "../../../src/kubelet/container/make-pod.fixture.ts";
import { createTestProber, observedPod } from "../../../src/kubelet/probe/prober.fixture.ts";

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
  expect(prober.verdict(pod, "a")).toEqual({ started: false, ready: false });
  expect(prober.startupBudget("a")?.text).toBe("29 of 30 failures, at most 5 s left");
  up = true;
  await clock.advance(5_000);
  expect(prober.verdict(pod, "a")).toEqual({ started: true, ready: true });
  up = false;
  await clock.advance(10_000);
  expect(prober.verdict(pod, "a").kill?.message).toBe(
    "Container app failed liveness probe, will be restarted",
  );
});

test("950-3 the documented example is killed when it has not started after five minutes", async () => {
  const { metadata, spec } = parse(manifest);
  const pod = makePod(spec, { ...metadata, uid: "u-1" });
  const { prober, clock } = createTestProber(() => ({ kind: "failure", output: "" }));
  prober.observe(pod, observedPod(pod, [{ id: "a", name: "app" }]));
  await clock.advance(289_999);
  expect(prober.verdict(pod, "a").kill).toBeUndefined();
  await clock.advance(1);
  expect(prober.verdict(pod, "a").kill?.probe).toBe("startup");
});
