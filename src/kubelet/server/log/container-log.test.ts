import { expect, test } from "vitest";
import type { ContainerStatus, Pod } from "../../../api/meta/objects.ts";
import { chooseLogContainer } from "./container-log.ts";

function podWith(status: Partial<ContainerStatus>): Pod {
  const container = { name: "web", image: "", imageID: "", ready: false, restartCount: 0, ...status };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    status: { containerStatuses: [], initContainerStatuses: [container] },
  };
}
const terminated = (containerID?: string) => ({ exitCode: 0, containerID });
const running = { running: { startedAt: "2026-01-01T00:00:00Z" } };

test.each<[string, Partial<ContainerStatus>, boolean, string]>([
  ["running", { state: running, containerID: "r://1" }, false, "r://1"],
  ["ended", { state: { terminated: terminated("r://1") }, containerID: "r://1" }, false, "r://1"],
  [
    "ended without ever having run, after another",
    { state: { terminated: terminated() }, lastState: { terminated: terminated("r://0") } },
    false,
    "r://0",
  ],
  [
    "waiting after a crash",
    { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated: terminated("r://0") } },
    false,
    "r://0",
  ],
  ["previous", { state: running, lastState: { terminated: terminated("r://0") } }, true, "r://0"],
])("chooses the container: %s", (_, status, previous, id) => {
  expect(chooseLogContainer(podWith(status), { container: "web", previous })).toBe(id);
});

const about = 'container "web" in pod "p"';
test.each<[Partial<ContainerStatus>, boolean, string]>([
  [
    { state: { waiting: { reason: "ContainerCreating" } } },
    false,
    `${about} is waiting to start: ContainerCreating`,
  ],
  [
    { state: { waiting: { reason: "ErrImagePull" } } },
    false,
    `${about} is waiting to start: image can't be pulled`,
  ],
  [
    { state: { waiting: { reason: "ImagePullBackOff" } } },
    false,
    `${about} is waiting to start: trying and failing to pull image`,
  ],
  [{ state: {} }, false, `${about} is waiting to start - no logs yet`],
  [{ state: { terminated: terminated() } }, false, `${about} is terminated`],
  [{ state: {}, lastState: { terminated: terminated() } }, false, `${about} is terminated`],
  [{ state: running }, true, `previous terminated ${about} not found`],
  [{ name: "other" }, false, `${about} is not available`],
])("rejects %j", (status, previous, message) => {
  expect(() => chooseLogContainer(podWith(status), { container: "web", previous })).toThrow(
    expect.objectContaining({ code: 400, message }),
  );
});
