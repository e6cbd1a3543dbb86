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
} from "../../cri/generated/cri.ts";
import { type AsyncQueue, createAsyncQueue } from "../../lib/async-queue.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock, type ManualClock } from "../../lib/manual-clock.ts";
import { createPodObserver, type PodObserver } from "./pod-observer.ts";

const labels = { "io.kubernetes.pod.uid": "u" };
const { CONTAINER_CREATED, CONTAINER_RUNNING, CONTAINER_EXITED } = ContainerState;
const { CONTAINER_CREATED_EVENT, CONTAINER_STARTED_EVENT, CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT } =
  ContainerEventType;

let clock: ManualClock;
let observer: PodObserver;
let stop: AbortController;
let running: Promise<void>;
/** State of the runtime: sandboxes with their readiness, and containers, in the first sandbox by default. */
let containersIn: string;
let sandboxes: Map<string, boolean>;
let containers: Map<string, ContainerState>;
let calls: string[];
let changes: number;
let events: AsyncQueue<ContainerEventResponse>;

beforeEach(() => {
  clock = createManualClock();
  stop = new AbortController();
  containersIn = "s";
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
    isOwn: ({ id }) => id !== "foreign",
    cri: {
      runtime: {
        listPodSandbox: asked("listPodSandbox", () => {
          const items = [...sandboxes].map(([id]) => PodSandbox.fromPartial({ ...sandboxStatus(id) }));
          return ListPodSandboxResponse.fromPartial({ items });
        }),
        listContainers: asked("listContainers", () => {
          const listed = [...containers].map(([id, state]) =>
            Container.fromPartial({ id, podSandboxId: containersIn, labels, state }),
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

/** Event of the runtime with the current state of the sandbox and its containers. */
async function emit(containerEventType: ContainerEventType): Promise<void> {
  events.push(
    ContainerEventResponse.fromPartial({
      containerEventType,
      podSandboxStatus: sandboxStatus(containersIn),
      containersStatuses: [...containers.keys()].map(containerStatus),
    }),
  );
  await settled();
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const states = () => observer.get("u")?.containers.map(({ id, state }) => `${id} ${state.kind}`);

test("knows existing pods once it is synced", async () => {
  sandboxes.set("s", true);
  containers.set("a", CONTAINER_RUNNING);
  await begin();
  expect(observer.get("u")?.sandboxes).toMatchObject([{ id: "s", ready: true }]);
  expect(states()).toEqual(["a running"]);
});

test("ignores sandboxes of other kubelets in lists and events", async () => {
  containersIn = "foreign";
  sandboxes.set("foreign", true);
  containers.set("a", CONTAINER_RUNNING);
  await begin();
  expect(observer.get("u")).toBeUndefined();
  await emit(CONTAINER_STARTED_EVENT);
  expect([...observer.list()]).toEqual([]);
  sandboxes.set("s", true);
  await observer.refresh("u");
  expect(observer.get("u")?.sandboxes.map(({ id }) => id)).toEqual(["s"]);
  expect(states()).toEqual([]);
});

test("applies an event without a CRI call", async () => {
  await begin();
  sandboxes.set("s", true);
  await emit(CONTAINER_STARTED_EVENT);
  expect(observer.get("u")?.sandboxes).toMatchObject([{ id: "s", ready: true }]);
  containers.set("a", CONTAINER_RUNNING);
  await emit(CONTAINER_STARTED_EVENT);
  expect(states()).toEqual(["a running"]);
  containers.set("a", CONTAINER_EXITED);
  await emit(CONTAINER_STOPPED_EVENT);
  expect(states()).toEqual(["a exited"]);
  expect(calls).toEqual([]);
  expect(changes).toBe(3);
  await emit(CONTAINER_STOPPED_EVENT);
  expect(changes).toBe(3);
});

test("ignores created events and inspects the pod after a deleted event", async () => {
  sandboxes.set("s", true);
  await begin();
  containers.set("a", CONTAINER_CREATED);
  await emit(CONTAINER_CREATED_EVENT);
  expect(states()).toEqual([]);
  containers.set("a", CONTAINER_RUNNING);
  await emit(CONTAINER_STARTED_EVENT);
  containers.delete("a");
  await emit(CONTAINER_DELETED_EVENT);
  expect(states()).toEqual([]);
});

test("an event of one sandbox does not change the others", async () => {
  sandboxes.set("s", false).set("older", false);
  await begin();
  sandboxes.set("s", true);
  await emit(CONTAINER_STARTED_EVENT);
  expect(observer.get("u")?.sandboxes.map(({ id, ready }) => [id, ready])).toEqual([
    ["older", false],
    ["s", true],
  ]);
});

test("reads a new part with one call, and with none if its event came first", async () => {
  await begin();
  sandboxes.set("s", true);
  await observer.refreshPart("u", { sandboxId: "s" });
  containers.set("a", CONTAINER_RUNNING);
  await observer.refreshPart("u", { sandboxId: "s", containerId: "a" });
  expect(calls).toEqual(["podSandboxStatus", "containerStatus"]);
  expect(states()).toEqual(["a running"]);
  containers.set("b", CONTAINER_RUNNING);
  await emit(CONTAINER_STARTED_EVENT);
  await observer.refreshPart("u", { sandboxId: "s", containerId: "b" });
  expect(calls).toHaveLength(2);
});

test("inspects the whole pod when a new part is already gone", async () => {
  sandboxes.set("s", true);
  containers.set("a", CONTAINER_RUNNING);
  await begin();
  containers.clear();
  await observer.refreshPart("u", { sandboxId: "s", containerId: "b" });
  expect(states()).toEqual([]);
});

test("callers share a read that has not begun", async () => {
  sandboxes.set("s", true);
  await begin();
  await Promise.all([observer.refresh("u"), observer.refresh("u"), observer.refresh("u")]);
  expect(calls.filter((name) => name === "listContainers")).toHaveLength(1);
});

test("lists pods every second without events and inspects those that differ", async () => {
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

test("relists once when the event stream opens and slowly afterwards", async () => {
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

test("relists immediately when the event stream ends", async () => {
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
  await emit(CONTAINER_STOPPED_EVENT);
  expect(observer.get("u")?.sandboxes[0]?.ready).toBe(false);
});
