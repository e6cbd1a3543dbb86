import { status as codes } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CriClient } from "../../src/cri/cri-client.ts";
import {
  type ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  PullImageWithProgressRequest_GranularityType as Granularity,
  ImageSpec,
  PodSandboxState,
  PullImageRequest,
  PullImageWithProgressRequest,
  type PullImageWithProgressResponse,
  RunPodSandboxRequest,
  UpdateContainerResourcesRequest,
} from "../../src/cri/generated/cri.ts";
import {
  type ContainerOptions,
  containerConfig,
  execIn,
  podConfig,
  runContainer,
  runSandbox,
  type SandboxOptions,
  statusOf,
  untilExited,
} from "./cri-pod.ts";
import { busyboxImage } from "./cri-runtime.ts";

/** A runtime that has `busyboxImage`, and can reach images that come slowly. */
export interface ContractRuntime {
  readonly client: CriClient;
  /** Comes within some seconds, in pieces. */
  readonly slowImage: string;
  /** Stops coming after a while. */
  readonly stallingImage: string;
  stop(): Promise<void>;
}

/**
 * What kubelets rest on, of every CRI runtime. Programs are given twice: as commands for runtimes that run them, as
 * annotations for one that does not.
 */
interface Program {
  readonly container: ContainerOptions;
  readonly annotations: Record<string, string>;
}

function program(script: string, annotations: Record<string, string> = {}): Program {
  const prefixed = Object.entries(annotations).map(([key, value]) => [
    `simulated.kindling.dev/${key}`,
    value,
  ]);
  return { container: { command: ["sh", "-c", script] }, annotations: Object.fromEntries(prefixed) };
}

/** Says by a file when it would hear its stop signal. */
const polite = program("trap 'exit 143' TERM; echo > /tmp/ready; while :; do sleep 0.05; done");
const deaf = program("trap '' TERM; echo > /tmp/ready; while :; do sleep 0.05; done", { "stop-delay": "1h" });
const failing = program("sleep 0.2; exit 3", { exit: "code=3 after=200ms" });
const succeeding = program("exit 0", { exit: "code=0" });

export function describeCriContract(name: string, start: () => Promise<ContractRuntime>): void {
  describe(name, () => {
    let runtime: ContractRuntime;
    const client = () => runtime.client;
    beforeAll(async () => {
      runtime = await start();
    });
    afterAll(() => runtime?.stop());
    describe("a runtime says what it is", () => infoSuite(client));
    describe("sandboxes", () => sandboxSuite(client));
    describe("containers", () => containerSuite(client));
    describe("events", () => eventSuite(client));
    describe("images", () => imageSuite(client, () => runtime));
  });
}

type Client = () => CriClient;

async function runPod(client: CriClient, { container, annotations }: Program, options: SandboxOptions = {}) {
  const config = podConfig({ annotations, ...options });
  const sandbox = await runSandbox(client, config);
  const containerId = await runContainer(client, sandbox, { ...container, sandboxConfig: config });
  return { sandbox, containerId };
}

async function untilReady(client: CriClient, containerId: string): Promise<void> {
  await expect
    .poll(async () => (await execIn(client, containerId, "test -e /tmp/ready")).exitCode, { timeout: 20_000 })
    .toBe(0);
}

const remove = (client: CriClient, podSandboxId: string) => client.runtime.removePodSandbox({ podSandboxId });

function infoSuite(client: Client): void {
  test("version, conditions, handlers", async () => {
    const version = await client().runtime.version({ version: "0.1.0" });
    expect(version).toMatchObject({ version: "0.1.0", runtimeApiVersion: "v1" });
    const { status, runtimeHandlers } = await client().runtime.status({ verbose: false });
    const conditions = Object.fromEntries((status?.conditions ?? []).map((one) => [one.type, one.status]));
    expect(conditions).toMatchObject({ RuntimeReady: true, NetworkReady: true });
    expect(runtimeHandlers.map((handler) => handler.name)).toContain("");
    expect((await client().runtime.runtimeConfig({})).linux).toBeDefined();
  });

  test("what is not there answers UNIMPLEMENTED", async () => {
    const call = client().runtime.portForward({ podSandboxId: "x", port: [80] });
    await expect(call).rejects.toMatchObject({ code: codes.UNIMPLEMENTED });
  });
}

function sandboxSuite(client: Client): void {
  const list = async (filter: { id?: string; state?: PodSandboxState; labels?: Record<string, string> }) => {
    const { id = "", state, labels: labelSelector = {} } = filter;
    const { items } = await client().runtime.listPodSandbox({
      filter: { id, state: state === undefined ? undefined : { state }, labelSelector },
    });
    return items.map((item) => item.id);
  };

  test("run, status, list by filter, stop, remove, each as often as one likes", async () => {
    const labels = { app: "web", tier: "front" };
    const config = podConfig({ labels, annotations: { note: "x" } });
    const id = await runSandbox(client(), config);
    const { status, containersStatuses } = await client().runtime.podSandboxStatus({
      podSandboxId: id.slice(0, 20),
      verbose: false,
    });
    expect(status).toMatchObject({
      id,
      state: PodSandboxState.SANDBOX_READY,
      metadata: config.metadata,
      labels,
      annotations: { note: "x" },
      runtimeHandler: "",
    });
    expect(containersStatuses).toEqual([]);
    expect(status?.network?.ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(status?.createdAt).toBeGreaterThan(0n);

    expect(await list({ id: id.slice(0, 20) })).toEqual([id]);
    expect(await list({ labels: { app: "web" } })).toContain(id);
    expect(await list({ labels: { app: "web", tier: "back" } })).not.toContain(id);
    expect(await list({ state: PodSandboxState.SANDBOX_NOTREADY })).not.toContain(id);

    for (let i = 0; i < 2; i++) await client().runtime.stopPodSandbox({ podSandboxId: id });
    expect(await list({ state: PodSandboxState.SANDBOX_NOTREADY })).toContain(id);
    for (let i = 0; i < 2; i++) await client().runtime.removePodSandbox({ podSandboxId: id });
    await client().runtime.stopPodSandbox({ podSandboxId: id });
    expect(await list({})).not.toContain(id);
    const gone = client().runtime.podSandboxStatus({ podSandboxId: id, verbose: false });
    await expect(gone).rejects.toMatchObject({ code: codes.NOT_FOUND });
  });

  test("two of one name and attempt cannot be, two attempts can", async () => {
    const config = podConfig();
    const made = await Promise.allSettled([runSandbox(client(), config), runSandbox(client(), config)]);
    const refused = made.find((result) => result.status === "rejected");
    expect(refused?.reason).toMatchObject({ code: codes.ALREADY_EXISTS });
    const metadata = { name: "x", namespace: "y", uid: "z", ...config.metadata, attempt: 1 };
    const next = await runSandbox(client(), { ...config, metadata });
    const first = made.find((result) => result.status === "fulfilled");
    expect(next).not.toBe(first?.value);
    for (const id of [first?.value ?? "", next]) await remove(client(), id);
  });

  test("pods have different addresses", async () => {
    const ids = await Promise.all([runSandbox(client()), runSandbox(client()), runSandbox(client())]);
    const statuses = await Promise.all(
      ids.map((podSandboxId) => client().runtime.podSandboxStatus({ podSandboxId, verbose: false })),
    );
    expect(new Set(statuses.map(({ status }) => status?.network?.ip)).size).toBe(3);
    await Promise.all(ids.map((id) => remove(client(), id)));
  });

  test("a handler that is not there: a failure that names it, and nothing stays", async () => {
    const config = podConfig({ labels: { handler: "none" } });
    const request = RunPodSandboxRequest.fromPartial({ config, runtimeHandler: "no-such" });
    await expect(client().runtime.runPodSandbox(request)).rejects.toThrow(/no-such/);
    expect(await list({ labels: { handler: "none" } })).toEqual([]);
  });

  test("stopping ends what runs in it, removing takes it along", async () => {
    const { sandbox, containerId } = await runPod(client(), deaf);
    await client().runtime.stopPodSandbox({ podSandboxId: sandbox });
    expect(await statusOf(client(), containerId)).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 137,
    });
    await remove(client(), sandbox);
    await expect(statusOf(client(), containerId)).rejects.toMatchObject({ code: codes.NOT_FOUND });
  });
}

function containerSuite(client: Client): void {
  test("create, start, status, list by filter, stop, remove", async () => {
    const sandboxConfig = podConfig();
    const podSandboxId = await runSandbox(client(), sandboxConfig);
    const labels = { role: "x" };
    const config = containerConfig({ ...polite.container, labels, annotations: { note: "y" } });
    const create = () => client().runtime.createContainer({ podSandboxId, config, sandboxConfig });
    const { containerId } = await create();
    await expect(create()).rejects.toMatchObject({ code: codes.ALREADY_EXISTS });
    const created = await statusOf(client(), containerId);
    expect(created).toMatchObject({
      id: containerId,
      metadata: config.metadata,
      state: ContainerState.CONTAINER_CREATED,
      labels,
      annotations: { note: "y" },
      image: { image: busyboxImage },
    });
    expect(created.imageRef).not.toBe("");
    expect(created.imageId).toMatch(/^sha256:/);

    await client().runtime.startContainer({ containerId });
    const started = await statusOf(client(), containerId.slice(0, 20));
    expect(started.state).toBe(ContainerState.CONTAINER_RUNNING);
    expect(started.startedAt).toBeGreaterThanOrEqual(started.createdAt);
    const again = client().runtime.startContainer({ containerId });
    await expect(again).rejects.toMatchObject({ code: codes.FAILED_PRECONDITION });

    const list = async (state: ContainerState, labelSelector: Record<string, string>) => {
      const filter = { id: "", podSandboxId, state: { state }, labelSelector };
      const { containers } = await client().runtime.listContainers({ filter });
      return containers.map(({ id }) => id);
    };
    expect(await list(ContainerState.CONTAINER_RUNNING, labels)).toEqual([containerId]);
    expect(await list(ContainerState.CONTAINER_EXITED, labels)).toEqual([]);
    expect(await list(ContainerState.CONTAINER_RUNNING, { role: "y" })).toEqual([]);

    await untilReady(client(), containerId);
    for (let i = 0; i < 2; i++) await client().runtime.stopContainer({ containerId, timeout: 10n });
    expect(await statusOf(client(), containerId)).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 143,
      reason: "Error",
    });
    for (let i = 0; i < 2; i++) await client().runtime.removeContainer({ containerId });
    await client().runtime.stopContainer({ containerId, timeout: 1n });
    await expect(statusOf(client(), containerId)).rejects.toMatchObject({ code: codes.NOT_FOUND });
    await remove(client(), podSandboxId);
  });

  test.each([
    ["failing", failing, 3, "Error"],
    ["succeeding", succeeding, 0, "Completed"],
  ])("an end by itself: %s", async (_name, ending, exitCode, reason) => {
    const { sandbox, containerId } = await runPod(client(), ending);
    const status = await untilExited(client(), containerId);
    expect(status).toMatchObject({ exitCode, reason });
    expect(status.finishedAt).toBeGreaterThanOrEqual(status.startedAt);
    expect(status.startedAt).toBeGreaterThanOrEqual(status.createdAt);
    const again = client().runtime.startContainer({ containerId });
    await expect(again).rejects.toMatchObject({ code: codes.FAILED_PRECONDITION });
    const exec = client().runtime.execSync({ containerId, cmd: ["true"], timeout: 5n });
    await expect(exec).rejects.toMatchObject({ code: codes.FAILED_PRECONDITION });
    await remove(client(), sandbox);
  });

  test("a stop with grace for one that does not listen: killed when it is over, or by a stop without", async () => {
    const { sandbox, containerId } = await runPod(client(), deaf);
    await untilReady(client(), containerId);
    const began = Date.now();
    await client().runtime.stopContainer({ containerId, timeout: 1n });
    expect(Date.now() - began).toBeGreaterThanOrEqual(950);
    expect((await statusOf(client(), containerId)).exitCode).toBe(137);
    await remove(client(), sandbox);

    const other = await runPod(client(), deaf);
    const patient = client().runtime.stopContainer({ containerId: other.containerId, timeout: 600n });
    await client().runtime.stopContainer({ containerId: other.containerId, timeout: 0n });
    await patient;
    expect((await statusOf(client(), other.containerId)).exitCode).toBe(137);
    await remove(client(), other.sandbox);
  });

  test("what is missing is named, and where nothing can be made nothing is", async () => {
    const sandboxConfig = podConfig();
    const podSandboxId = await runSandbox(client(), sandboxConfig);
    const create = (id: string, image: string) =>
      client().runtime.createContainer({
        podSandboxId: id,
        config: containerConfig({ image: { image } }),
        sandboxConfig,
      });
    await expect(create(podSandboxId, "test.local/no-such:1")).rejects.toMatchObject({
      code: codes.NOT_FOUND,
      details: expect.stringContaining("test.local/no-such:1"),
    });
    await expect(create("0".repeat(64), busyboxImage)).rejects.toMatchObject({ code: codes.NOT_FOUND });
    const { containerId } = await create(podSandboxId, busyboxImage);
    await client().runtime.stopPodSandbox({ podSandboxId });
    await expect(create(podSandboxId, busyboxImage)).rejects.toMatchObject({
      code: codes.FAILED_PRECONDITION,
    });
    await expect(client().runtime.startContainer({ containerId })).rejects.toMatchObject({
      code: codes.FAILED_PRECONDITION,
    });
    const missing = client().runtime.startContainer({ containerId: "0".repeat(64) });
    await expect(missing).rejects.toMatchObject({ code: codes.NOT_FOUND });
    await remove(client(), podSandboxId);
  });

  test("exec, statistics and changed limits of one that runs", async () => {
    const { sandbox, containerId } = await runPod(client(), polite);
    expect((await execIn(client(), containerId, "true")).exitCode).toBe(0);
    const { stats } = await client().runtime.containerStats({ containerId });
    expect(stats?.attributes?.id).toBe(containerId);
    expect(stats?.memory?.workingSetBytes?.value).toBeGreaterThan(0n);
    const pod = await client().runtime.podSandboxStats({ podSandboxId: sandbox });
    expect(pod.stats?.linux?.containers.map(({ attributes }) => attributes?.id)).toEqual([containerId]);

    const update = { containerId, linux: { cpuShares: 512n } };
    await client().runtime.updateContainerResources(UpdateContainerResourcesRequest.fromPartial(update));
    expect((await statusOf(client(), containerId)).resources?.linux?.cpuShares).toBe(512n);
    await remove(client(), sandbox);
  });
}

function eventSuite(client: Client): void {
  test("each step of a pod in order, with the state of the pod after it", async () => {
    const ending = new AbortController();
    const events = client().runtime.getContainerEvents({}, { signal: ending.signal });
    const seen: ContainerEventResponse[] = [];
    const reading = (async () => {
      for await (const event of events) seen.push(event);
    })();
    // Over a socket the subscription takes its moment: it is there once a pod of ours is heard of.
    await expect
      .poll(
        async () => {
          await remove(client(), await runSandbox(client()));
          return seen.length;
        },
        { timeout: 20_000, interval: 200 },
      )
      .toBeGreaterThan(0);

    const { sandbox, containerId } = await runPod(client(), failing);
    await untilExited(client(), containerId);
    await client().runtime.removeContainer({ containerId });
    await client().runtime.stopPodSandbox({ podSandboxId: sandbox });
    await remove(client(), sandbox);
    const { CONTAINER_CREATED_EVENT: created, CONTAINER_STARTED_EVENT: started } = ContainerEventType;
    const { CONTAINER_STOPPED_EVENT: stopped, CONTAINER_DELETED_EVENT: deleted } = ContainerEventType;
    const of = (id: string) => seen.filter((event) => event.containerId === id);
    const types = (id: string) => of(id).map(({ containerEventType }) => containerEventType);
    await expect.poll(() => types(sandbox)).toEqual([created, started, stopped, deleted]);
    expect(types(containerId)).toEqual([created, started, stopped, deleted]);

    const stop = of(containerId)[2];
    expect(stop?.podSandboxStatus).toMatchObject({ id: sandbox, state: PodSandboxState.SANDBOX_READY });
    expect(stop?.containersStatuses).toMatchObject([
      { id: containerId, state: ContainerState.CONTAINER_EXITED, exitCode: 3 },
    ]);
    const mine = seen.filter(({ podSandboxStatus }) => podSandboxStatus?.id === sandbox);
    const times = mine.map(({ createdAt }) => createdAt);
    expect(times).toEqual([...times].sort((a, b) => Number(a - b)));
    ending.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
}

function imageSuite(
  client: Client,
  images: () => Pick<ContractRuntime, "slowImage" | "stallingImage">,
): void {
  const spec = (image: string) => ImageSpec.fromPartial({ image });
  const find = async (image: string) =>
    (await client().images.imageStatus({ image: spec(image), verbose: false })).image;

  type PullOptions = Omit<Parameters<typeof PullImageWithProgressRequest.fromPartial>[0], "request">;
  async function pull(image: string, options: PullOptions, signal?: AbortSignal) {
    const request = PullImageWithProgressRequest.fromPartial({ ...options, request: { image: spec(image) } });
    const responses: PullImageWithProgressResponse[] = [];
    for await (const response of client().images.pullImageWithProgress(request, { signal }))
      responses.push(response);
    return responses;
  }
  const bySize = { granularityType: Granularity.SIZE, interval: { value: 50n * 1_024n } };

  test("3542 pull with progress, then found, listed, pulled again, removed", async () => {
    const { slowImage } = images();
    expect(await find(slowImage)).toBeUndefined();
    const responses = await pull(slowImage, { ...bySize, verbosity: true });
    const offsets = responses.map(({ offset }) => Number(offset?.value));
    expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
    expect(responses.length).toBeGreaterThan(3);
    expect(responses[0]?.imageRef).toBe(slowImage);
    const stages = new Set(responses.flatMap(({ details }) => details.map(({ stage }) => stage)));
    expect(stages).toContain("downloading");
    const last = responses.at(-1);
    expect(last?.offset).toEqual(last?.total);
    expect(last?.details.every(({ stage }) => stage === "done")).toBe(true);

    const image = await find(slowImage);
    expect(image?.id).toBe(last?.imageRef);
    expect(image?.repoTags).toEqual([slowImage]);
    expect(image?.size).toBeGreaterThan(0n);
    expect((await find(image?.id ?? ""))?.id).toBe(image?.id);
    const listed = await client().images.listImages({ filter: { image: spec(slowImage) } });
    expect(listed.images.map(({ id }) => id)).toEqual([image?.id]);
    const again = PullImageRequest.fromPartial({ image: spec(slowImage) });
    expect((await client().images.pullImage(again)).imageRef).toBe(image?.id);
    const { imageFilesystems } = await client().images.imageFsInfo({});
    expect(imageFilesystems[0]?.usedBytes?.value).toBeGreaterThan(0n);

    for (let i = 0; i < 2; i++) await client().images.removeImage({ image: spec(slowImage) });
    expect(await find(slowImage)).toBeUndefined();
  });

  test("3542-2, 3542-3 granularity none: the last message only, without details", async () => {
    const { slowImage } = images();
    const responses = await pull(slowImage, { granularityType: Granularity.NONE });
    expect(responses).toHaveLength(1);
    expect(responses[0]?.details).toEqual([]);
    await client().images.removeImage({ image: spec(slowImage) });
  });

  test("a pull that is given up leaves no image", async () => {
    const { slowImage } = images();
    const leaving = new AbortController();
    const pulling = pull(slowImage, bySize, leaving.signal);
    setTimeout(() => leaving.abort(new Error("no longer needed")), 300);
    await expect(pulling).rejects.toThrow("no longer needed");
    expect(await find(slowImage)).toBeUndefined();
  });

  test("3542-4 a stall fails with its reason, in both calls", async () => {
    const { stallingImage } = images();
    const noProgressTimeout = { value: 1 };
    const stalled = { code: codes.DEADLINE_EXCEEDED, details: expect.stringMatching(/no progress/) };
    await expect(
      pull(stallingImage, { granularityType: Granularity.NONE, noProgressTimeout }),
    ).rejects.toMatchObject(stalled);
    const plain = PullImageRequest.fromPartial({ image: spec(stallingImage), noProgressTimeout });
    await expect(client().images.pullImage(plain)).rejects.toMatchObject(stalled);
    expect(await find(stallingImage)).toBeUndefined();
  });

  test("what makes no sense is refused", async () => {
    const invalid = { code: codes.INVALID_ARGUMENT };
    const bad = PullImageRequest.fromPartial({ image: spec("Not An Image") });
    await expect(client().images.pullImage(bad)).rejects.toMatchObject(invalid);
    await expect(client().images.pullImage(PullImageRequest.fromPartial({}))).rejects.toMatchObject(invalid);
    expect(await find("Not An Image")).toBeUndefined();
  });
}
