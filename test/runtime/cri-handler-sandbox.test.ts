import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { NamespaceMode, PodSandboxState, RunPodSandboxRequest } from "../../src/cri/generated/cri.ts";
import { noConfig } from "../../src/runtime/runtime-config.ts";
import { execIn, podConfig, runContainer, runSandbox, type SandboxOptions } from "../support/cri/cri-pod.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { type GatedHandler, makeGatedHandler } from "../support/cri/gated-handler.ts";
import { findTraces, networkNotes } from "../support/cri/machine-traces.ts";
import { describeWithTool } from "../support/programs/tools.ts";

describeWithTool("busybox", "sandboxes of a RuntimeClass handler", () => {
  describeWithTool("runc", "that is a script in front of runc", () => {
    let handler: GatedHandler;
    let runtime: CriRuntime;
    beforeAll(async () => {
      handler = makeGatedHandler();
      const handlers = new Map([["gated", handler.path]]);
      runtime = await startCriRuntime({ driver: "oci", runtimeConfig: { ...noConfig, handlers } });
    });
    afterEach(async () => {
      handler.open();
      const { items } = await runtime.client.runtime.listPodSandbox({ filter: undefined });
      for (const { id } of items) await runtime.client.runtime.removePodSandbox({ podSandboxId: id });
    });
    afterAll(async () => {
      await runtime?.stop();
      handler?.remove();
    });

    const run = async (
      options: { config?: SandboxOptions; signal?: AbortSignal; timeoutMs?: number } = {},
    ) => {
      const { config, ...call } = options;
      const request = { config: podConfig(config), runtimeHandler: "gated" };
      const answer = await runtime.client.runtime.runPodSandbox(
        RunPodSandboxRequest.fromPartial(request),
        call,
      );
      return answer.podSandboxId;
    };
    const folder = () => join(runtime.dataDir, "driver/handlers/gated/oci/containers");
    const bundleOf = (id: string, name: string) => JSON.parse(readFileSync(join(folder(), id, name), "utf8"));
    const stateOf = async (podSandboxId: string) =>
      (await runtime.client.runtime.podSandboxStatus({ podSandboxId, verbose: false })).status?.state;
    const waiting = (count: number) =>
      expect.poll(() => handler.waiting().length, { timeout: 30_000 }).toBe(count);

    /** Sandboxes of the record files, those that are still being made included. */
    const recorded = () =>
      readdirSync(join(runtime.dataDir, "sandboxes")).flatMap((name) =>
        name.endsWith(".json") ? [name.replace(".json", "")] : [],
      );
    /** Polls, because the daemon still cleans up when the client of a cancelled call has its error. */
    const expectNothingLeft = async (ids: readonly string[]) => {
      const left = async () => ({
        ...(await findTraces({ dataDir: `${runtime.dataDir}/sandboxes`, ids, bridges: [] })),
        ...(await networkNotes(runtime.dataDir)),
        files: [...readdirSync(folder()), ...readdirSync(join(runtime.dataDir, "sandboxes"))],
      });
      const nothing = { mounts: [], processes: [], cgroups: [], interfaces: [] };
      await expect
        .poll(left, { timeout: 30_000 })
        .toEqual({ ...nothing, podIds: [], addresses: [], files: [] });
    };

    test.each([
      ["its containers' own", NamespaceMode.CONTAINER],
      ["shared", NamespaceMode.POD],
      ["the host's", NamespaceMode.NODE],
    ])(
      "3085-15 the handler makes the sandbox and its containers, annotated as such; processes are %s",
      async (_whose, pid) => {
        const linux = { securityContext: { namespaceOptions: { pid } } };
        const sandbox = await run({ config: { linux } });
        const config = bundleOf(sandbox, "config.json");
        expect(config.annotations).toMatchObject({
          "io.kubernetes.cri.container-type": "sandbox",
          "io.kubernetes.cri.sandbox-id": sandbox,
          "io.kubernetes.cri-o.ContainerType": "sandbox",
          "io.kubernetes.cri-o.SandboxID": sandbox,
        });
        const id = await runContainer(runtime.client, sandbox, { command: ["sleep", "1000"], linux });
        expect(bundleOf(id, "config.json").annotations).toMatchObject({
          "io.kubernetes.cri.container-type": "container",
          "io.kubernetes.cri.sandbox-id": sandbox,
          "io.kubernetes.cri.container-name": "main",
          "io.kubernetes.cri-o.ContainerType": "container",
          "io.kubernetes.cri-o.SandboxID": sandbox,
        });
        const { stdout } = await execIn(runtime.client, id, "ps");
        expect(stdout.includes("/pause")).toBe(pid !== NamespaceMode.CONTAINER);
        await runtime.client.runtime.stopPodSandbox({ podSandboxId: sandbox });
        expect(readdirSync(folder())).toEqual([id]);
        await runtime.client.runtime.removePodSandbox({ podSandboxId: sandbox });
        await expectNothingLeft([sandbox, id]);
      },
    );

    test("3085-15 a failing handler is named by the error, and leaves nothing", async () => {
      handler.fail("no hypervisor");
      await expect(run()).rejects.toMatchObject({
        details: expect.stringMatching(
          /^runtime handler "gated" failed to create the sandbox: .*no hypervisor/,
        ),
      });
      await expectNothingLeft([]);
    });

    test.each(["cancelled", "past its deadline"])(
      "3085-15 a request that is %s while the handler hangs kills the handler and leaves nothing",
      async (how) => {
        handler.hold();
        const cancel = new AbortController();
        const call = how === "cancelled" ? { signal: cancel.signal } : { timeoutMs: 10_000 };
        const running = run(call);
        const ended = expect(running).rejects.toThrow();
        await waiting(1);
        const ids = recorded();
        expect(ids).toHaveLength(1);
        cancel.abort(new Error("the test does not want it any more"));
        await ended;
        await waiting(0);
        await expectNothingLeft(ids);
        handler.open();
        expect(await stateOf(await run())).toBe(PodSandboxState.SANDBOX_READY);
      },
    );

    test("3085-15 a handler that hangs in start is killed too", async () => {
      handler.holdStart();
      const cancel = new AbortController();
      const ended = expect(run({ signal: cancel.signal })).rejects.toThrow();
      await waiting(1);
      const ids = recorded();
      cancel.abort(new Error("the test does not want it any more"));
      await ended;
      await waiting(0);
      await expectNothingLeft(ids);
    });

    test("twenty sandboxes that wait for a handler do not delay a sandbox of the default runtime", async () => {
      handler.hold();
      const held = Array.from({ length: 20 }, () => run());
      await waiting(20);
      const quick = await runSandbox(runtime.client);
      expect(await stateOf(quick)).toBe(PodSandboxState.SANDBOX_READY);
      expect(handler.waiting()).toHaveLength(20);
      handler.open();
      await Promise.all(held);
    });

    test("3085-5 a sandbox is found again after a restart, and is not ready once its container has died", async () => {
      const sandbox = await run();
      const id = await runContainer(runtime.client, sandbox, { command: ["sleep", "1000"] });
      await runtime.restart();
      expect(await stateOf(sandbox)).toBe(PodSandboxState.SANDBOX_READY);
      expect(await execIn(runtime.client, id, "echo up")).toMatchObject({ stdout: "up\n" });
      process.kill(bundleOf(sandbox, "made.json").container.pid, "SIGKILL");
      await expect.poll(() => stateOf(sandbox)).toBe(PodSandboxState.SANDBOX_NOTREADY);
      await runtime.client.runtime.removePodSandbox({ podSandboxId: sandbox });
      await expectNothingLeft([sandbox, id]);
    });

    test("a sandbox of an earlier version, which its handler took no part in, keeps working", async () => {
      const sandbox = await runSandbox(runtime.client);
      const file = join(runtime.dataDir, "sandboxes", `${sandbox}.json`);
      const record = JSON.parse(readFileSync(file, "utf8"));
      const { container: _, ...state } = record.state;
      await runtime.restart(() =>
        writeFileSync(file, JSON.stringify({ ...record, state, runtimeHandler: "gated" })),
      );
      expect(await stateOf(sandbox)).toBe(PodSandboxState.SANDBOX_READY);
      const id = await runContainer(runtime.client, sandbox, { command: ["sleep", "1000"] });
      expect(bundleOf(id, "config.json").annotations).toEqual({});
      expect(await execIn(runtime.client, id, "echo up")).toMatchObject({ stdout: "up\n" });
      await runtime.client.runtime.removePodSandbox({ podSandboxId: sandbox });
      await expectNothingLeft([sandbox, id]);
    });

    test("no other runtime takes containers of a handler that was removed from the configuration", async () => {
      const sandbox = await runSandbox(runtime.client);
      const file = join(runtime.dataDir, "sandboxes", `${sandbox}.json`);
      const record = JSON.parse(readFileSync(file, "utf8"));
      await runtime.restart(() =>
        writeFileSync(file, JSON.stringify({ ...record, runtimeHandler: "removed" })),
      );
      await expect(runContainer(runtime.client, sandbox)).rejects.toMatchObject({
        details: 'no runtime for "removed" is configured',
      });
    });
  });
});
