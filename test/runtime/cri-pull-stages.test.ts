import { readdir, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  PullImageWithProgressRequest_GranularityType as Granularity,
  ImageSpec,
  PullImageWithProgressRequest,
} from "../../src/cri/generated/cri.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { layerOf, startFakeRegistry } from "../support/registry/fake-registry.ts";

const mib = 2 ** 20;
describeWithTool("busybox", "stages of a pull over CRI", () => {
  let runtime: CriRuntime;
  beforeAll(async () => {
    runtime = await startCriRuntime({ driver: "host" });
  });
  afterAll(() => runtime?.stop());

  test("3542-3 a layer's stages as they are: downloading, verifying, unpacking, done, and exists the next time", async () => {
    const registry = await startHeldRegistry();
    const seen = new Set<string>();
    const request = PullImageWithProgressRequest.fromPartial({
      request: { image: ImageSpec.fromPartial({ image: registry.reference }) },
      granularityType: Granularity.SIZE,
      interval: { value: 1n },
      verbosity: true,
    });
    let latest: readonly string[] = [];
    const pull = async () => {
      for await (const { details } of runtime.client.images.pullImageWithProgress(request)) {
        latest = details.map(({ stage }) => stage);
        for (const stage of latest.slice(0, -1)) seen.add(stage);
      }
      return latest;
    };
    const pulling = pull();
    await expect.poll(() => latest.slice(0, -1)).toEqual(["downloading", "downloading", "downloading"]);
    // Verification and unpacking are paused: downloaded layers stay in the next stage.
    const goOn = await stopUnpacker();
    try {
      registry.release();
      await expect.poll(() => latest.slice(0, -1)).toEqual(["verifying", "verifying", "verifying"]);
      expect(seen).not.toContain("unpacking");
    } finally {
      goOn();
    }
    await expect.poll(() => latest.slice(0, -1)).toEqual(["done", "done", "done"]);
    expect(seen).toContain("unpacking");
    registry.finish();
    expect(await pulling).toEqual(["done", "done", "done", "done"]);
    expect(await pull()).toEqual(["exists", "exists", "exists", "exists"]);
    await registry.stop();
  });

  /** Three layers whose second half is held back, large enough to take a while to unpack, and one that drips. */
  async function startHeldRegistry() {
    const large = [1, 2, 3].map((byte) => layerOf(`file-${byte}`, Buffer.alloc(32 * mib, byte)));
    const dripping = layerOf("dripping", Buffer.alloc(mib, 4));
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let finished = false;
    const registry = await startFakeRegistry({
      layers: [...large, dripping],
      async handle(request, response) {
        const blob = registry.layers.find(({ digest }) => request.url?.endsWith(digest))?.bytes;
        if (!blob) return false;
        response.writeHead(200, { "content-length": blob.length });
        if (blob === dripping) {
          let sent = 0;
          for (; !finished && sent < blob.length - 1; sent++) {
            response.write(blob.subarray(sent, sent + 1));
            await pause(10);
          }
          response.end(blob.subarray(sent));
        } else {
          response.write(blob.subarray(0, blob.length / 2));
          await released;
          response.end(blob.subarray(blob.length / 2));
        }
        return true;
      },
    });
    return {
      ...registry,
      release,
      finish() {
        finished = true;
      },
    };
  }

  /** Stops the runtime's unpack process group. Returns a function that continues it. */
  async function stopUnpacker(): Promise<() => void> {
    const stopped = new Set<number>();
    // Again until there are no more: one may have been made meanwhile.
    for (let before = -1; before < stopped.size; ) {
      before = stopped.size;
      for (const pid of await findUnpacker()) if (send(pid, "SIGSTOP")) stopped.add(pid);
    }
    expect(stopped.size).toBeGreaterThan(0);
    return () => {
      for (const pid of stopped) send(pid, "SIGCONT");
    };
  }

  /** Whether it still exists. */
  function send(pid: number, signal: NodeJS.Signals): boolean {
    try {
      return process.kill(pid, signal);
    } catch {
      return false;
    }
  }

  async function findUnpacker(): Promise<readonly number[]> {
    const processes = await listProcesses();
    const isUnpacker = (pid: number): boolean => {
      const { parent, command } = processes.get(pid) ?? { parent: 0, command: "" };
      if (parent === 0) return false;
      return (parent === process.pid && command.includes("unpack-process")) || isUnpacker(parent);
    };
    return [...processes.keys()].filter(isUnpacker);
  }

  async function listProcesses(): Promise<Map<number, { parent: number; command: string }>> {
    const processes = new Map<number, { parent: number; command: string }>();
    for (const name of await readdir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      try {
        const [stat, command] = await Promise.all([
          readFile(`/proc/${name}/stat`, "utf8"),
          readFile(`/proc/${name}/cmdline`, "utf8"),
        ]);
        // The name of the program before it may have spaces.
        processes.set(Number(name), {
          parent: Number(stat.slice(stat.lastIndexOf(")")).split(" ")[2]),
          command,
        });
      } catch {
        // It has ended meanwhile.
      }
    }
    return processes;
  }
});
