import { expect, test } from "vitest";
import type { Container } from "../../api/objects.ts";
import { podOf, runningContainer, setUpKill } from "./kill.fixture.ts";
import { stopPod, stopWaves } from "./stop-pod.ts";

const sidecar = (name: string): Container => ({ name, restartPolicy: "Always" });
const pod = podOf({
  initContainers: [{ name: "setup" }, sidecar("proxy"), sidecar("logger")],
  containers: [{ name: "web" }, { name: "cache" }],
});

test.each([
  { running: ["web", "cache", "proxy", "logger"], waves: [["web", "cache"], ["logger"], ["proxy"]] },
  { running: ["setup", "proxy"], waves: [["setup"], ["logger"], ["proxy"]] },
  { running: ["web"], waves: [["web"], ["logger"], ["proxy"]] },
])("$running stop as $waves", ({ running, waves }) => {
  expect(stopWaves(pod, running)).toEqual(waves);
});

const never = new AbortController().signal;

test("containers together, then sidecars from the last to the first, then what is ready of the sandboxes", async () => {
  const { clock, log, deps } = setUpKill({ stopMs: 1_000 });
  const sandbox = { attempt: 0, createdAtMs: 0, ips: [] };
  const ended = {
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
      containers: [...["logger", "proxy", "web"].map(runningContainer), ended],
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

test("a pod that the runtime does not know is stopped", async () => {
  const { log, deps } = setUpKill();
  await stopPod(deps, { pod, observed: undefined, graceSeconds: 10, signal: never });
  expect(log).toEqual([]);
});
