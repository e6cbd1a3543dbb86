import { describe, expect, test } from "vitest";
import { containerStatuses, initContainerStatuses } from "./container-status.ts";
import {
  container,
  exited,
  makeFacts,
  makePod,
  observe,
  observedContainer,
  running,
  runningBefore,
  sidecar,
  statusBefore,
} from "./status.fixture.ts";
import type { StatusFacts } from "./status-facts.ts";

const time = "2022-12-06T15:33:47Z";

function web(facts: Partial<StatusFacts>) {
  return containerStatuses(makeFacts(facts))[0];
}

const webBefore = (more: Parameters<typeof statusBefore>[1]) => ({
  containerStatuses: [statusBefore("web", more)],
});

describe("a container that the runtime does not have", () => {
  test("waits to be created", () => {
    expect(web({})).toEqual({
      name: "web",
      image: "registry/web:1",
      imageID: "",
      ready: false,
      started: false,
      restartCount: 0,
      state: { waiting: { reason: "ContainerCreating" } },
      lastState: {},
    });
  });

  test("waits for init containers", () => {
    const pod = makePod({ spec: { initContainers: [container("init")] } });
    expect(web({ pod })?.state).toEqual({ waiting: { reason: "PodInitializing" } });
    expect(initContainerStatuses(makeFacts({ pod }))[0]?.state).toEqual({
      waiting: { reason: "PodInitializing" },
    });
  });

  test("waits with the reason of the failed start", () => {
    const problems = new Map([["web", { reason: "ErrImagePull", message: "no route to host" }]]);
    expect(web({ problems })?.state).toEqual({
      waiting: { reason: "ErrImagePull", message: "no route to host" },
    });
  });

  test("keeps its last state after the runtime removed it", () => {
    const state = { terminated: { exitCode: 0, reason: "Completed" } };
    const pod = makePod({ spec: { restartPolicy: "Never" } });
    expect(web({ pod, previous: webBefore({ state, restartCount: 2 }) })).toMatchObject({
      state,
      restartCount: 2,
    });
  });

  test.each([
    ["has vanished", undefined, 4],
    ["has vanished while being deleted", time, 3],
  ])("ran and %s", (_, deletionTimestamp, restartCount) => {
    const pod = makePod({ metadata: { deletionTimestamp } });
    const previous = webBefore({ state: runningBefore, containerID: "kindling://web-3", restartCount: 3 });
    const status = web({ pod, previous });
    expect(status).toMatchObject({
      restartCount,
      state: { waiting: { reason: "ContainerCreating" } },
      lastState: { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } },
    });
    // Looked at again, it is not counted again.
    const again = web({ pod, previous: { containerStatuses: status ? [status] : [] } });
    expect(again).toEqual(status);
  });

  test("is completed if it is an init container and later containers exist", () => {
    const pod = makePod({ spec: { initContainers: [container("init"), sidecar("mesh")] } });
    const observed = observe([observedContainer("web", running)]);
    const [init, mesh] = initContainerStatuses(makeFacts({ pod, observed }));
    expect(init).toMatchObject({ ready: true, state: { terminated: { exitCode: 0, reason: "Completed" } } });
    expect(mesh?.state).toEqual({ waiting: { reason: "PodInitializing" } });
  });
});

describe("a container that the runtime has", () => {
  test("runs", () => {
    const requests = { cpu: "100m" };
    const pod = makePod({
      spec: {
        containers: [
          container("web", {
            resources: { requests, limits: { cpu: "1" } },
            volumeMounts: [
              { name: "data", mountPath: "/data" },
              { name: "conf", mountPath: "/etc/conf", readOnly: true },
              { name: "deep", mountPath: "/deep", readOnly: true, recursiveReadOnly: "IfPossible" },
            ],
          }),
        ],
      },
    });
    const user = { uid: 1000, gid: 2000, supplementalGroups: [2000, 3000] };
    const observed = observe([observedContainer("web", running, { user })]);
    expect(web({ pod, observed, recursiveReadOnlyMounts: true })).toEqual({
      name: "web",
      image: "registry/web:1",
      imageID: "registry/web@sha256:abc",
      containerID: "kindling://web-0",
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: time } },
      lastState: {},
      resources: { requests, limits: { cpu: "1" } },
      allocatedResources: requests,
      user: { linux: user },
      volumeMounts: [
        { name: "data", mountPath: "/data" },
        { name: "conf", mountPath: "/etc/conf", readOnly: true, recursiveReadOnly: "Disabled" },
        { name: "deep", mountPath: "/deep", readOnly: true, recursiveReadOnly: "Enabled" },
      ],
    });
  });

  test.each([
    [
      { started: false, ready: true },
      { started: false, ready: false },
    ],
    [
      { started: true, ready: false },
      { started: true, ready: false },
    ],
    [
      { started: true, ready: true },
      { started: true, ready: true },
    ],
  ])("is as ready as its probes say: %j", (probeResult, shown) => {
    expect(
      web({ observed: observe([observedContainer("web", running)]), probeResult: () => probeResult }),
    ).toMatchObject(shown);
  });

  test("has exited", () => {
    const state = { ...exited(3), message: "out of disk" };
    expect(web({ observed: observe([observedContainer("web", state)]) })).toMatchObject({
      ready: false,
      started: false,
      state: {
        terminated: {
          exitCode: 3,
          reason: "Error",
          message: "out of disk",
          startedAt: time,
          finishedAt: time,
          containerID: "kindling://web-0",
        },
      },
    });
  });

  test("has no start time if it never started", () => {
    const state = { ...exited(128), startedAtMs: 0 };
    const status = web({ observed: observe([observedContainer("web", state)]) });
    expect(status?.state?.terminated).not.toHaveProperty("startedAt");
  });

  test("waits for its restart with its exit as the last state", () => {
    const problems = new Map([["web", { reason: "CrashLoopBackOff", message: "back-off 10s" }]]);
    const status = web({ problems, observed: observe([observedContainer("web", exited(1))]) });
    expect(status).toMatchObject({
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } },
      lastState: { terminated: { exitCode: 1, containerID: "kindling://web-0" } },
    });
  });

  test.each([
    ["it runs", running, {}],
    ["it ended and is not restarted", exited(0), { spec: { restartPolicy: "OnFailure" } }],
    ["the pod is deleted", exited(1), { metadata: { deletionTimestamp: time } }],
  ])("keeps its state, whatever went wrong, when %s", (_, state, parts) => {
    const problems = new Map([["web", { reason: "RunContainerError", message: "no" }]]);
    const observed = observe([observedContainer("web", state)]);
    expect(web({ pod: makePod(parts), problems, observed })?.state).not.toHaveProperty("waiting");
  });

  test("was restarted: the last state is that of the previous attempt", () => {
    const observed = observe([
      observedContainer("web", running, { attempt: 2 }),
      observedContainer("web", exited(7), { attempt: 1 }),
      observedContainer("web", exited(1), { attempt: 0 }),
    ]);
    expect(web({ observed })).toMatchObject({
      restartCount: 2,
      lastState: { terminated: { exitCode: 7, containerID: "kindling://web-1" } },
    });
  });

  test("was restarted after the runtime lost the previous attempt, which counts with reason Unknown", () => {
    const previous = webBefore({ state: runningBefore, containerID: "kindling://gone", restartCount: 5 });
    const observed = observe([observedContainer("web", running, { attempt: 0 })]);
    expect(web({ previous, observed })).toMatchObject({
      restartCount: 6,
      lastState: { terminated: { reason: "ContainerStatusUnknown", exitCode: 137 } },
    });
  });

  test("was restarted after the runtime removed the previous attempt, whose exit is known", () => {
    const terminated = { exitCode: 9, containerID: "kindling://web-4" };
    const previous = webBefore({ state: { terminated }, containerID: "kindling://web-4", restartCount: 4 });
    const observed = observe([observedContainer("web", running, { attempt: 5 })]);
    expect(web({ previous, observed })).toMatchObject({ restartCount: 5, lastState: { terminated } });
  });

  test("is in an unknown state: counts as exited if it ran", () => {
    const previous = webBefore({ state: runningBefore, containerID: "kindling://web-0" });
    const observed = observe([observedContainer("web", { kind: "unknown" })]);
    const status = web({ previous, observed });
    expect(status).toMatchObject({
      restartCount: 1,
      state: { terminated: { reason: "ContainerStatusUnknown", exitCode: 137 } },
    });
    expect(web({ previous: { containerStatuses: status ? [status] : [] }, observed })).toEqual(status);
  });

  test.each([{ kind: "created" } as const, { kind: "unknown" } as const])("never ran: %j", (state) => {
    expect(web({ observed: observe([observedContainer("web", state)]) })?.state).toEqual({
      waiting: { reason: "ContainerCreating" },
    });
  });

  test("has a long termination message: truncated between characters to its share of the limit", () => {
    const pod = makePod({ spec: { containers: ["a", "b", "c", "d"].map((name) => container(name)) } });
    const message = `x${"ü".repeat(3_000)}`;
    const observed = observe([observedContainer("a", { ...exited(1), message })]);
    const written = containerStatuses(makeFacts({ pod, observed }))[0]?.state?.terminated?.message ?? "";
    expect(Buffer.byteLength(written)).toBe(3 * 1024 - 1);
    expect(message.startsWith(written)).toBe(true);
  });
});

describe("init containers and sidecars", () => {
  const pod = makePod({ spec: { initContainers: [container("init"), sidecar("mesh")] } });
  const probeResult = () => ({ started: false, ready: false });

  test("an init container is ready when it has succeeded, regardless of probes", () => {
    const [init] = initContainerStatuses(
      makeFacts({ pod, probeResult, observed: observe([observedContainer("init", running)]) }),
    );
    expect(init).toMatchObject({ ready: false, started: true });
    const [done] = initContainerStatuses(
      makeFacts({ pod, probeResult, observed: observe([observedContainer("init", exited(0))]) }),
    );
    expect(done).toMatchObject({ ready: true, started: false });
  });

  test("a succeeded init container is not waiting", () => {
    const problems = new Map([["init", { reason: "CrashLoopBackOff", message: "" }]]);
    const [init] = initContainerStatuses(
      makeFacts({ pod, problems, observed: observe([observedContainer("init", exited(0))]) }),
    );
    expect(init?.state?.terminated?.exitCode).toBe(0);
  });

  test("readiness of a sidecar follows its probes", () => {
    const observed = observe([observedContainer("mesh", running)]);
    expect(initContainerStatuses(makeFacts({ pod, probeResult, observed }))[1]).toMatchObject({
      started: false,
      ready: false,
    });
  });

  test("keep the order of the spec; containers are sorted by name", () => {
    const mixed = makePod({
      spec: {
        initContainers: [container("z"), container("a")],
        containers: [container("y"), container("b")],
      },
    });
    expect(initContainerStatuses(makeFacts({ pod: mixed })).map(({ name }) => name)).toEqual(["z", "a"]);
    expect(containerStatuses(makeFacts({ pod: mixed })).map(({ name }) => name)).toEqual(["b", "y"]);
  });
});
