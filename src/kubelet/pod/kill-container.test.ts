import { expect, test } from "vitest";
import type { LifecycleHandler } from "../../api/objects.ts";
import { podOf, runningContainer, setUpKill } from "./kill.fixture.ts";
import { killContainer } from "./kill-container.ts";

const never = new AbortController().signal;
const exec: LifecycleHandler = { exec: { command: ["bye"] } };

interface Row {
  why: string;
  graceSeconds: number;
  preStop?: LifecycleHandler;
  hookMs?: number;
  stops: string;
}

test.each<Row>([
  { why: "the grace period is the runtime's timeout", graceSeconds: 30, stops: "0 stop c within 30 s" },
  { why: "nobody has less than two seconds", graceSeconds: 0, stops: "0 stop c within 2 s" },
  {
    why: "a hook uses up some of it",
    graceSeconds: 30,
    preStop: exec,
    hookMs: 10_500,
    stops: "10500 stop c within 20 s",
  },
  {
    why: "a hook that lasts longer is left at the end of it",
    graceSeconds: 5,
    preStop: exec,
    hookMs: 60_000,
    stops: "5000 stop c within 2 s",
  },
  {
    why: "one that sleeps counts the same",
    graceSeconds: 30,
    preStop: { sleep: { seconds: 3 } },
    stops: "3000 stop c within 27 s",
  },
  { why: "without grace no hook runs", graceSeconds: 0, preStop: exec, stops: "0 stop c within 2 s" },
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

test("its turn is waited for, but not beyond the grace period; its hook does not wait", async () => {
  const { clock, log, deps } = setUpKill();
  const killing = killContainer(deps, {
    pod: podOf({ containers: [], initContainers: [{ name: "c", lifecycle: { preStop: exec } }] }),
    observed: runningContainer("c"),
    podIp: undefined,
    message: "Stopping container c",
    gracePeriodSeconds: 4,
    turn: new Promise(() => {}),
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

test("a container that is gone is stopped; one that nobody has a spec for is stopped too", async () => {
  const { log, deps } = setUpKill({ missing: true });
  const observed = runningContainer("left");
  const options = { podIp: undefined, message: "", gracePeriodSeconds: 1, signal: never };
  await killContainer(deps, { ...options, pod: podOf(undefined), observed });
  expect(log.at(-1)).toBe("0 stop left within 2 s");
});

test("a container that was made and never ran has no hook to run", async () => {
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

test("an abort ends the wait for a hook", async () => {
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
