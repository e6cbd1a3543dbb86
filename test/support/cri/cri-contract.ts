import { status as codes } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import { ContainerState, PodSandboxState, RunPodSandboxRequest } from "../../../src/cri/generated/cri.ts";
import { containerSuite, eventSuite } from "./cri-contract-containers.ts";
import { type ContractImages, imageSuite } from "./cri-contract-images.ts";
import { type Client, deaf, remove, runPod } from "./cri-contract-pod.ts";
import { podConfig, runSandbox, statusOf } from "./cri-pod.ts";

/** A runtime that has `busyboxImage`, and can reach images that come slowly. */
export interface ContractRuntime extends ContractImages {
  readonly client: CriClient;
  /** False where nothing runs: then kubelets make no cgroups for pods. */
  readonly hasCgroups?: false;
  stop(): Promise<void>;
}

/** What kubelets rest on, of every CRI runtime. */
export function describeCriContract(name: string, start: () => Promise<ContractRuntime>): void {
  describe(name, () => {
    let runtime: ContractRuntime;
    const client = () => runtime.client;
    beforeAll(async () => {
      runtime = await start();
    });
    afterAll(() => runtime?.stop());
    describe("runtime information", () => infoSuite(client, () => runtime));
    describe("sandboxes", () => sandboxSuite(client));
    describe("containers", () => containerSuite(client));
    describe("events", () => eventSuite(client));
    describe("images", () => imageSuite(client, () => runtime));
  });
}

function infoSuite(client: Client, runtime: () => ContractRuntime): void {
  test("version, conditions, handlers", async () => {
    const version = await client().runtime.version({ version: "0.1.0" });
    expect(version).toMatchObject({ version: "0.1.0", runtimeApiVersion: "v1" });
    const { status, runtimeHandlers } = await client().runtime.status({ verbose: false });
    const conditions = Object.fromEntries((status?.conditions ?? []).map((one) => [one.type, one.status]));
    expect(conditions).toMatchObject({ RuntimeReady: true, NetworkReady: true });
    expect(runtimeHandlers.map((handler) => handler.name)).toContain("");
    const { linux } = await client().runtime.runtimeConfig({});
    expect(linux !== undefined).toBe(runtime().hasCgroups ?? true);
  });

  test("unsupported calls return UNIMPLEMENTED", async () => {
    const call = client().runtime.listMetricDescriptors({});
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

  test("run, status, list by filter, stop and remove are idempotent", async () => {
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

  test("rejects a second sandbox of the same name and attempt, and accepts another attempt", async () => {
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

  test("an unknown handler fails with its name and leaves nothing", async () => {
    const config = podConfig({ labels: { handler: "none" } });
    const request = RunPodSandboxRequest.fromPartial({ config, runtimeHandler: "no-such" });
    await expect(client().runtime.runPodSandbox(request)).rejects.toThrow(/no-such/);
    expect(await list({ labels: { handler: "none" } })).toEqual([]);
  });

  test("stop ends its containers, remove removes them", async () => {
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
