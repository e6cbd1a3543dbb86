import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CriClient, connectCri } from "../../src/cri/cri-client.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { startUp } from "../support/cluster/up-process.ts";
import { podConfig, runSandbox } from "../support/cri/cri-pod.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { kindling, runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const folder = temporaryFolder();
const endpoint = `unix://${join(folder, "cri.sock")}`;
const pod = JSON.stringify(makePod("web", userPod));

describeWithTool("kubectl", "kindling up on a shared runtime", () => {
  let simulated: SimulatedRuntime;
  let cri: CriClient;
  beforeAll(async () => {
    simulated = await startSimulatedRuntime({ logger: silentLogger, listen: endpoint, imagesPresent: true });
    cri = connectCri(endpoint);
  });
  afterAll(async () => {
    cri?.close();
    await simulated?.close();
  });

  const podNames = () => [...simulated.state.sandboxes.values()].map(({ metadata }) => metadata.name).sort();
  const foreignPod = (name: string) =>
    runSandbox(cri, podConfig({ metadata: { name, namespace: "other", uid: name, attempt: 0 } }));

  async function startWithPod(...args: string[]) {
    const up = await startUp(["--runtime", endpoint, "--dashboard", "off", ...args]);
    await up.kubectl.ok(["apply", "-f", "-"], { input: pod });
    await up.kubectl.ok(["wait", "--for=condition=Ready", "pod/web", "--timeout=60s"]);
    return up;
  }

  test("stopping and resetting it removes only its own pods", async () => {
    const ephemeral = await startWithPod("--ephemeral");
    const other = await foreignPod("other-1");
    await ephemeral.kill("SIGTERM");
    expect(podNames()).toEqual(["other-1"]);
    await cri.runtime.removePodSandbox({ podSandboxId: other });

    const dataDir = join(folder, "kept");
    const kept = await startWithPod("--data-dir", dataDir);
    await foreignPod("other-2");
    await kept.kill("SIGTERM");
    expect(podNames()).toEqual(["other-2", "web"]);
    expect((await kindling("reset", "--yes", "--data-dir", dataDir)).code).toBe(0);
    expect(podNames()).toEqual(["other-2"]);
  });

  test("with pods of another kubelet it does not start, and names the flag that adopts them", async () => {
    const args = [
      "up",
      "--listen",
      "127.0.0.1:0",
      "--ephemeral",
      "--runtime",
      endpoint,
      "--dashboard",
      "off",
    ];
    const { exit, output } = await runKindling(args);
    expect(await exit).toBe(1);
    expect(output.stderr).toMatch(/1 pod sandbox .* for example other\/other-2 .*--adopt-sandboxes/);
    expect(podNames()).toEqual(["other-2"]);
  });
});
