import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  Container,
  ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  ContainerStatus,
  ContainerStatusResponse,
  ListContainersResponse,
  ListPodSandboxResponse,
  PodSandbox,
  PodSandboxState,
  PodSandboxStatus,
  PodSandboxStatusResponse,
} from "../cri/generated/cri.ts";
import { type AsyncQueue, createAsyncQueue } from "../lib/async-queue.ts";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock, type ManualClock } from "../lib/manual-clock.ts";
import { createPodObserver, type PodObserver } from "./pod-observer.ts";

const labels = { "io.kubernetes.pod.uid": "u" };
const { CONTAINER_CREATED, CONTAINER_RUNNING, CONTAINER_EXITED } = ContainerState;
const { CONTAINER_CREATED_EVENT, CONTAINER_STARTED_EVENT, CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT } =
  ContainerEventType;

let clock: ManualClock;
let observer: PodObserver;
let stop: AbortController;
let running: Promise<void>;
/** What the runtime has: sandboxes with their readiness, and containers, all in the first sandbox. */
let sandboxes: Map<string, boolean>;
let containers: Map<string, ContainerState>;
let calls: string[];
let changes: number;
let events: AsyncQueue<ContainerEventResponse>;

beforeEach(() => {
  clock = createManualClock();
  stop = new AbortController();
  sandboxes = new Map();
  containers = new Map();
  calls = [];
  changes = 0;
  events = createAsyncQueue({ capacity: 100 });
});
afterEach(async () => {
  stop.abort();
  events.end();
  await running;
});

async function begin(getContainerEvents: () => AsyncIterable<ContainerEventResponse> = () => events) {
  const asked =
    <Request, Response>(name: string, answer: (request: Request) => Response) =>
    async (request: Request) => {
      calls.push(name);
      return answer(request);
    };
  observer = createPodObserver({
    cri: {
      runtime: {
        listPodSandbox: asked("listPodSandbox", () => {
          const items = [...sandboxes].map(([id]) => PodSandbox.fromPartial({ ...sandboxStatus(id) }));
          return ListPodSandboxResponse.fromPartial({ items });
        }),
        listContainers: asked("listContainers", () => {
          const listed = [...containers].map(([id, state]) =>
            Container.fromPartial({ id, podSandboxId: "s", labels, state }),
          );
          return ListContainersResponse.fromPartial({ containers: listed });
        }),
        podSandboxStatus: asked("podSandboxStatus", ({ podSandboxId }) =>
          PodSandboxStatusResponse.fromPartial({ status: sandboxStatus(podSandboxId) }),
        ),
        containerStatus: asked("containerStatus", ({ containerId }) => {
          if (!containers.has(containerId)) throw grpcError(status.NOT_FOUND);
          return ContainerStatusResponse.fromPartial({ status: containerStatus(containerId) });
        }),
        getContainerEvents,
      },
    },
    dataDirectory: "/nowhere",
    clock,
    logger: silentLogger,
  });
  observer.onChange(() => changes++);
  running = observer.run(stop.signal);
  await observer.synced;
  calls.length = 0;
  changes = 0;
}

function sandboxStatus(id: string) {
  const state = sandboxes.get(id) ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
  return PodSandboxStatus.fromPartial({ id, labels, metadata: { uid: "u" }, state });
}

function containerStatus(id: string) {
  return ContainerStatus.fromPartial({ id, labels, metadata: { name: id }, state: containers.get(id) });
}

function grpcError(code: status): Error {
  return Object.assign(new Error("no"), { code, details: "no" });
}

/** What the runtime says with an event: the sandbox and its containers as they are. */
async function tell(containerEventType: ContainerEventType): Promise<void> {
  events.push(
    ContainerEventResponse.fromPartial({
      containerEventType,
      podSandboxStatus: sandboxStatus("s"),
      containersStatuses: [...containers.keys()].map(containerStatus),
    }),
  );
  await settled();
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const states = () => observer.get("u")?.containers.map(({ id, state }) => `${id} ${state.kind}`);

test("what is there from the start is known once it is synced", async () => {
  sandboxes.set("s", true);
  containers.set("a", CONTAINER_RUNNING);
  await begin();
  expect(observer.get("u")?.sandboxes).toMatchObject([{ id: "s", ready: true }]);
  expect(states()).toEqual(["a running"]);
});

test("an event is believed without a question", async () => {
  await begin();
  sandboxes.set("s", true);
  await tell(CONTAINER_STARTED_EVENT);
  expect(observer.get("u")?.sandboxes).toMatchObject([{ id: "s", ready: true }]);
  containers.set("a", CONTAINER_RUNNING);
  await tell(CONTAINER_STARTED_EVENT);
  expect(states()).toEqual(["a running"]);
  containers.set("a", CONTAINER_EXITED);
  await tell(CONTAINER_STOPPED_EVENT);
  expect(states()).toEqual(["a exited"]);
  expect(calls).toEqual([]);
  expect(changes).toBe(3);
  await tell(CONTAINER_STOPPED_EVENT);
  expect(changes).toBe(3);
});

test("that something was made is no news; that it was removed is looked at", async () => {
  sandboxes.set("s", true);
  await begin();
  containers.set("a", CONTAINER_CREATED);
  await tell(CONTAINER_CREATED_EVENT);
  expect(states()).toEqual([]);
  containers.set("a", CONTAINER_RUNNING);
  await tell(CONTAINER_STARTED_EVENT);
  containers.delete("a");
  await tell(CONTAINER_DELETED_EVENT);
  expect(states()).toEqual([]);
});

test("an event of one sandbox leaves the others as they were", async () => {
  sandboxes.set("s", false).set("older", false);
  await begin();
  sandboxes.set("s", true);
  await tell(CONTAINER_STARTED_EVENT);
  expect(observer.get("u")?.sandboxes.map(({ id, ready }) => [id, ready])).toEqual([
    ["older", false],
    ["s", true],
  ]);
});

test("a part that was just made takes one question, and none when its event was quicker", async () => {
  await begin();
  sandboxes.set("s", true);
  await observer.refreshPart("u", { sandboxId: "s" });
  containers.set("a", CONTAINER_RUNNING);
  await observer.refreshPart("u", { sandboxId: "s", containerId: "a" });
  expect(calls).toEqual(["podSandboxStatus", "containerStatus"]);
  expect(states()).toEqual(["a running"]);
  containers.set("b", CONTAINER_RUNNING);
  await tell(CONTAINER_STARTED_EVENT);
  await observer.refreshPart("u", { sandboxId: "s", containerId: "b" });
  expect(calls).toHaveLength(2);
});

test("a part that has gone meanwhile: all of the pod is looked at", async () => {
  sandboxes.set("s", true);
  containers.set("a", CONTAINER_RUNNING);
  await begin();
  containers.clear();
  await observer.refreshPart("u", { sandboxId: "s", containerId: "b" });
  expect(states()).toEqual([]);
});

test("whoever asks while a look waits for its turn shares it", async () => {
  sandboxes.set("s", true);
  await begin();
  await Promise.all([observer.refresh("u"), observer.refresh("u"), observer.refresh("u")]);
  expect(calls.filter((name) => name === "listContainers")).toHaveLength(1);
});

test("without events pods are listed every second, and looked at when they differ", async () => {
  sandboxes.set("s", true);
  containers.set("a", CONTAINER_RUNNING);
  await begin(async function* () {
    yield* [];
    throw grpcError(status.UNIMPLEMENTED);
  });
  await clock.advance(1_000);
  expect(calls).toEqual(["listPodSandbox", "listContainers"]);
  containers.set("a", CONTAINER_EXITED);
  await clock.advance(1_000);
  await settled();
  expect(states()).toEqual(["a exited"]);
});

test("with events the list is slow, but for one once they can be heard: what came before is not among them", async () => {
  await begin();
  sandboxes.set("s", true);
  await clock.advance(500);
  await settled();
  expect(observer.get("u")?.sandboxes).toHaveLength(1);
  calls.length = 0;
  await clock.advance(29_000);
  expect(calls).toEqual([]);
  await clock.advance(1_000);
  expect(calls).toEqual(["listPodSandbox", "listContainers"]);
});

test("when the events break off, pods are listed at once", async () => {
  await begin();
  await clock.advance(500);
  calls.length = 0;
  sandboxes.set("s", true);
  events.fail(grpcError(status.UNAVAILABLE));
  await settled();
  expect(observer.get("u")?.sandboxes).toHaveLength(1);
  events = createAsyncQueue({ capacity: 100 });
  await clock.advance(500);
  sandboxes.set("s", false);
  await tell(CONTAINER_STOPPED_EVENT);
  expect(observer.get("u")?.sandboxes[0]?.ready).toBe(false);
});
