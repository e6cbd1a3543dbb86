import { describe, expect, test } from "vitest";
import {
  ContainerStatus,
  ContainerState as CriState,
  PodSandboxState,
  PodSandboxStatus,
} from "../../cri/generated/cri.ts";
import { observePod } from "./observe-pod.ts";

const labels = {
  "io.kubernetes.pod.name": "web",
  "io.kubernetes.pod.namespace": "shop",
  "io.kubernetes.pod.uid": "u-1",
};
const second = 1_000_000_000n;

function sandbox(id: string, rest: Parameters<typeof PodSandboxStatus.fromPartial>[0] = {}) {
  return PodSandboxStatus.fromPartial({ id, labels, ...rest });
}

function container(id: string, rest: Parameters<typeof ContainerStatus.fromPartial>[0] = {}) {
  const status = ContainerStatus.fromPartial({
    id,
    labels: { ...labels, "io.kubernetes.container.name": "c" },
    ...rest,
  });
  return { sandboxId: "s", status };
}

describe("observePod", () => {
  test("returns undefined without a sandbox and containers", () => {
    expect(observePod({ sandboxes: [], containers: [] })).toBeUndefined();
  });

  test("sandboxes are sorted by attempt, then by time, newest first", () => {
    const observed = observePod({
      sandboxes: [
        sandbox("old", { metadata: { attempt: 0 }, createdAt: 9n * second }),
        sandbox("new", {
          metadata: { attempt: 1 },
          createdAt: 1_500_000_000n,
          state: PodSandboxState.SANDBOX_READY,
          network: { ip: "10.0.0.2", additionalIps: [{ ip: "fd00::2" }] },
        }),
        sandbox("older", { metadata: { attempt: 0 }, createdAt: 8n * second }),
      ],
      containers: [],
    });
    expect(observed).toMatchObject({ uid: "u-1", namespace: "shop", name: "web" });
    expect(observed?.sandboxes.map(({ id }) => id)).toEqual(["new", "old", "older"]);
    expect(observed?.sandboxes[0]).toEqual({
      id: "new",
      attempt: 1,
      ready: true,
      createdAtMs: 1_500,
      ips: ["10.0.0.2", "fd00::2"],
    });
  });

  test.each([
    ["none on the host's network", { ip: "" }, []],
    ["none where one is nonsense", { ip: "10.0.0.2", additionalIps: [{ ip: "10.0.0" }] }, []],
  ])("addresses: %s", (_, network, ips) => {
    const observed = observePod({ sandboxes: [sandbox("s", { network })], containers: [] });
    expect(observed?.sandboxes[0]?.ips).toEqual(ips);
  });

  test("containers are sorted newest first and have the values of their annotations", () => {
    const observed = observePod({
      sandboxes: [],
      containers: [
        container("first", { createdAt: second }),
        container("second", {
          createdAt: 2n * second,
          startedAt: 3n * second,
          state: CriState.CONTAINER_RUNNING,
          metadata: { name: "c", attempt: 7 },
          image: { image: "nginx:1.25" },
          imageRef: "nginx@sha256:1",
          logPath: "/logs/c/1.log",
          annotations: {
            "io.kubernetes.container.hash": "abc",
            "io.kubernetes.container.restartCount": "1",
            "kindling.container.restartDelayMs": "10000",
            "io.kubernetes.pod.terminationGracePeriod": "5",
          },
          user: { linux: { uid: 5n, gid: 6n, supplementalGroups: [7n] } },
        }),
      ],
    });
    expect(observed?.containers.map(({ id }) => id)).toEqual(["second", "first"]);
    expect(observed?.containers[0]).toEqual({
      id: "second",
      name: "c",
      sandboxId: "s",
      attempt: 1,
      createdAtMs: 2_000,
      state: { kind: "running", startedAtMs: 3_000 },
      image: "nginx:1.25",
      imageRef: "nginx@sha256:1",
      specHash: "abc",
      restartDelayMs: 10_000,
      logPath: "/logs/c/1.log",
      graceSeconds: 5,
      user: { uid: 5, gid: 6, supplementalGroups: [7] },
    });
  });

  test("the runtime's message takes precedence over the termination message", () => {
    const exited = container("x", {
      state: CriState.CONTAINER_EXITED,
      startedAt: second,
      finishedAt: 2n * second,
      exitCode: 137,
      reason: "OOMKilled",
      message: "killed",
    });
    const read = (messages?: ReadonlyMap<string, string>) =>
      observePod({ sandboxes: [], containers: [exited], messages })?.containers[0]?.state;
    const state = {
      kind: "exited",
      startedAtMs: 1_000,
      finishedAtMs: 2_000,
      exitCode: 137,
      reason: "OOMKilled",
    };
    expect(read()).toEqual({ ...state, message: "killed" });
    expect(read(new Map([["x", "last words"]]))).toEqual({ ...state, message: "killed: last words" });
  });

  test.each([
    [CriState.CONTAINER_CREATED, "created"],
    [CriState.CONTAINER_UNKNOWN, "unknown"],
  ])("state %s is %s", (state, kind) => {
    const observed = observePod({ sandboxes: [], containers: [container("x", { state })] });
    expect(observed?.containers[0]?.state).toEqual({ kind });
  });
});
