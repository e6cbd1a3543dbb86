import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PodSandboxState, RunPodSandboxRequest } from "../../src/cri/generated/cri.ts";
import { noConfig } from "../../src/runtime/runtime-config.ts";
import { execIn, podConfig, runContainer, untilExited } from "../support/cri/cri-pod.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { describeWithTool } from "../support/programs/tools.ts";

describeWithTool("busybox", "RuntimeClass handlers", () => {
  describeWithTool("conmon", "beside runc", () => {
    let runtime: CriRuntime;
    beforeAll(async () => {
      const handlers = new Map([
        ["light", "host"],
        ["second", "runc"],
        ["broken", "/bin/false"],
      ]);
      runtime = await startCriRuntime({ driver: "oci", runtimeConfig: { ...noConfig, handlers } });
    });
    afterAll(() => runtime?.stop());

    const run = async (runtimeHandler: string) => {
      const request = RunPodSandboxRequest.fromPartial({ config: podConfig(), runtimeHandler });
      return (await runtime.client.runtime.runPodSandbox(request)).podSandboxId;
    };
    const containersOf = (handler: string, driver: string) =>
      readdir(join(runtime.dataDir, "driver/handlers", handler, driver, "containers"));

    test("status lists the handlers that work", async () => {
      const { runtimeHandlers } = await runtime.client.runtime.status({ verbose: false });
      const listed = runtimeHandlers.map(({ name, features }) => [name, features?.recursiveReadOnlyMounts]);
      expect(listed).toEqual([
        ["", true],
        ["oci", true],
        ["light", true],
        ["second", true],
      ]);
    });

    test("a pod's containers are made by its handler's runtime, and stay with it over a restart", async () => {
      const command = ["sh", "-c", "trap 'exit 7' TERM; echo > /ready; while :; do sleep 0.05; done"];
      const pods = [await run("light"), await run("second"), await run("")];
      const ids = await Promise.all(pods.map((pod) => runContainer(runtime.client, pod, { command })));
      expect(await containersOf("light", "host")).toEqual([pods[0], ids[0]].toSorted());
      expect(await containersOf("second", "oci")).toEqual([pods[1], ids[1]].toSorted());
      await runtime.restart();
      const { items } = await runtime.client.runtime.listPodSandbox({ filter: undefined });
      expect(items.map(({ state }) => state)).toEqual(pods.map(() => PodSandboxState.SANDBOX_READY));
      for (const id of ids) {
        expect(await execIn(runtime.client, id, "echo $((6 * 7))")).toMatchObject({ stdout: "42\n" });
        await expect.poll(async () => (await execIn(runtime.client, id, "test -e /ready")).exitCode).toBe(0);
        await runtime.client.runtime.stopContainer({ containerId: id, timeout: 10n });
        expect(await untilExited(runtime.client, id)).toMatchObject({ exitCode: 7 });
      }
      for (const podSandboxId of pods) await runtime.client.runtime.removePodSandbox({ podSandboxId });
      expect([...(await containersOf("light", "host")), ...(await containersOf("second", "oci"))]).toEqual(
        [],
      );
    });

    test("an unknown handler and a broken handler are reported", async () => {
      await expect(run("absent")).rejects.toMatchObject({
        details: 'no runtime for "absent" is configured',
      });
      await expect(run("broken")).rejects.toMatchObject({
        details: expect.stringMatching(/^the runtime for "broken" does not work: .*\/bin\/false/),
      });
    });
  });
});
