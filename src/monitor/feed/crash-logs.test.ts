import { expect, test } from "vitest";
import type { ContainerStatus, Pod } from "../../api/meta/objects.ts";
import { badRequest } from "../../api/meta/status-error.ts";
import { crashingContainers, lastLines, readCrashLogs } from "./crash-logs.ts";

const podWith = (state: ContainerStatus["state"], lastState?: ContainerStatus["lastState"]): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "shop" },
  status: {
    containerStatuses: [
      { name: "c", image: "", imageID: "", ready: false, restartCount: 1, state, lastState },
    ],
  },
});
const backOff = { waiting: { reason: "CrashLoopBackOff" } };
const failed = { terminated: { exitCode: 1 } };

test.each([
  { name: "in back-off", pod: podWith(backOff, failed), runs: ["previous", "current"] },
  { name: "exited with an error", pod: podWith(failed), runs: ["current"] },
  { name: "completed", pod: podWith({ terminated: { exitCode: 0 } }), runs: undefined },
  { name: "running", pod: podWith({ running: {} }, failed), runs: undefined },
  { name: "in back-off before its first run", pod: podWith(backOff), runs: undefined },
])("a container that is $name", ({ pod, runs }) => {
  expect(crashingContainers(pod)).toEqual(runs ? [{ container: "c", runs }] : []);
});

test("reads the current log where the previous one is gone", async () => {
  const paths: string[] = [];
  const readText = async (path: string) => {
    paths.push(path);
    if (path.includes("previous")) throw badRequest("previous terminated container not found");
    return "one\ntwo\n";
  };
  const logs = await readCrashLogs({ readText }, podWith(backOff, failed), new AbortController().signal);
  expect(logs).toEqual([{ container: "c", lines: ["one", "two"] }]);
  expect(paths).toHaveLength(2);
  expect(paths[0]).toBe(
    "/api/v1/namespaces/shop/pods/p/log?container=c&tailLines=5&limitBytes=20000&previous=true",
  );
});

test("keeps the last five lines that are not blank, each of limited length", () => {
  expect(lastLines("1\n2\n\n3\n4\r\n5\n6\n")).toEqual(["2", "3", "4", "5", "6"]);
  expect(lastLines("x".repeat(1_000))[0]).toHaveLength(301);
  expect(lastLines("")).toEqual([]);
});
