import { describe, expect, test } from "vitest";
import type { Container, LifecycleHandler } from "../../api/meta/objects.ts";
import { podOf, runningContainer, setUpKill } from "./kill.fixture.ts";
import { killContainer, stopPod, stopWaves } from "./stop-pod.ts";

const never = new AbortController().signal;

describe("stopPod", () => {
  const sidecar = (name: string): Container => ({ name, restartPolicy: "Always" });
  const pod = podOf({
    initContainers: [{ name: "setup" }, sidecar("proxy"), sidecar("logger")],
    containers: [{ name: "web" }, { name: "cache" }],
  });

  test.each([
    { running: ["web", "cache", "proxy", "logger"], waves: [["web", "cache"], ["logger"], ["proxy"]] },
    { running: ["setup", "proxy"], waves: [["setup"], ["logger"], ["proxy"]] },
    { running: ["web"], waves: [["web"], ["logger"], ["proxy"]] },
  ])("stops $running in the order $waves", ({ running, waves }) => {
    expect(stopWaves(pod, running)).toEqual(waves);
  });

  test("stops containers in parallel, then sidecars in reverse order, then ready sandboxes", async () => {
    const { clock, log, deps } = setUpKill({ stopMs: 1_000 });
    const sandbox = { attempt: 0, createdAtMs: 0, ips: [] };
    const exitedContainer = {
      ...runningContainer("cache"),
      state: {
        kind: "exited",
        startedAtMs: 0,
        finishedAtMs: 0,
        exitCode: 0,
        reason: "Completed",
        message: "",
      },
    } as const;
    const stopping = stopPod(deps, {
      pod,
      observed: {
        uid: "u",
        namespace: "n",
        name: "p",
        sandboxes: [
          { ...sandbox, id: "new", ready: true },
          { ...sandbox, id: "old", ready: false },
        ],
        containers: [...["logger", "proxy", "web"].map(runningContainer), exitedContainer],
      },
      graceSeconds: 10,
      signal: never,
    });
    await clock.advance(60_000);
    await stopping;
    expect(log.filter((line) => line.includes("stop"))).toEqual([
      "0 stop web within 10 s",
      "1000 stop logger within 9 s",
      "2000 stop proxy within 8 s",
      "3000 stop sandbox new",
    ]);
  });

  test("does nothing for a pod that the runtime does not have", async () => {
    const { log, deps } = setUpKill();
    await stopPod(deps, { pod, observed: undefined, graceSeconds: 10, signal: never });
    expect(log).toEqual([]);
  });
});

describe("killContainer", () => {
  const exec: LifecycleHandler = { exec: { command: ["bye"] } };

  interface Row {
    why: string;
    graceSeconds: number;
    preStop?: LifecycleHandler;
    hookMs?: number;
    stops: string;
  }

  test.each<Row>([
    { why: "passes the grace period to the runtime", graceSeconds: 30, stops: "0 stop c within 30 s" },
    { why: "gives at least two seconds", graceSeconds: 0, stops: "0 stop c within 2 s" },
    {
      why: "subtracts the run time of the preStop hook",
      graceSeconds: 30,
      preStop: exec,
      hookMs: 10_500,
      stops: "10500 stop c within 20 s",
    },
    {
      why: "aborts a preStop hook at the end of the grace period",
      graceSeconds: 5,
      preStop: exec,
      hookMs: 60_000,
      stops: "5000 stop c within 2 s",
    },
    {
      why: "subtracts the duration of a sleep hook",
      graceSeconds: 30,
      preStop: { sleep: { seconds: 3 } },
      stops: "3000 stop c within 27 s",
    },
    {
      why: "runs no hook without a grace period",
      graceSeconds: 0,
      preStop: exec,
      stops: "0 stop c within 2 s",
    },
  ])("$why", async ({ graceSeconds, preStop, hookMs = 0, stops }) => {
    const { clock, log, deps } = setUpKill({ hookMs });
    const killing = killContainer(deps, {
      pod: podOf({ containers: [{ name: "c", ...(preStop && { lifecycle: { preStop } }) }] }),
      observed: runningContainer("c"),
      podIp: "10.0.0.1",
      message: "Stopping container c",
      gracePeriodSeconds: graceSeconds,
      signal: never,
    });
    await clock.advance(120_000);
    await killing;
    expect(log[0]).toBe("0 Killing: Stopping container c (spec.containers{c})");
    expect(log.at(-1)).toBe(stops);
    expect(log.includes("0 hook of c")).toBe(preStop?.exec !== undefined && graceSeconds > 0);
    expect(clock.sleeping()).toBe(0);
  });

  test("waits for earlier containers at most for the grace period and runs the hook immediately", async () => {
    const { clock, log, deps } = setUpKill();
    const killing = killContainer(deps, {
      pod: podOf({ containers: [], initContainers: [{ name: "c", lifecycle: { preStop: exec } }] }),
      observed: runningContainer("c"),
      podIp: undefined,
      message: "Stopping container c",
      gracePeriodSeconds: 4,
      stopAfter: new Promise(() => {}),
      signal: never,
    });
    await clock.advance(60_000);
    await killing;
    expect(log).toEqual([
      "0 Killing: Stopping container c (spec.initContainers{c})",
      "0 hook of c",
      "4000 stop c within 2 s",
    ]);
  });

  test("ignores NOT_FOUND and stops a container without a spec", async () => {
    const { log, deps } = setUpKill({ missing: true });
    const observed = runningContainer("left");
    const options = { podIp: undefined, message: "", gracePeriodSeconds: 1, signal: never };
    await killContainer(deps, { ...options, pod: podOf(undefined), observed });
    expect(log.at(-1)).toBe("0 stop left within 2 s");
  });

  test("runs no hook for a container that never started", async () => {
    const { clock, log, deps } = setUpKill();
    const killing = killContainer(deps, {
      pod: podOf({ containers: [{ name: "c", lifecycle: { preStop: exec } }] }),
      observed: { ...runningContainer("c"), state: { kind: "created" } },
      podIp: undefined,
      message: "Stopping container c",
      gracePeriodSeconds: 4,
      signal: never,
    });
    await clock.advance(1_000);
    await killing;
    expect(log.slice(1)).toEqual(["0 stop c within 4 s"]);
  });

  test("stops waiting for the hook when the signal aborts", async () => {
    const { clock, deps } = setUpKill({ hookMs: 60_000 });
    const stop = new AbortController();
    const killing = killContainer(deps, {
      pod: podOf({ containers: [{ name: "c", lifecycle: { preStop: exec } }] }),
      observed: runningContainer("c"),
      podIp: undefined,
      message: "",
      gracePeriodSeconds: 30,
      signal: stop.signal,
    });
    const failed = expect(killing).rejects.toThrow("the kubelet stops");
    await clock.advance(1_000);
    stop.abort(new Error("the kubelet stops"));
    await clock.advance(0);
    await failed;
  });
});
