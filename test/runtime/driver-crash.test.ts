import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import {
  type ContractBench,
  createContractBench,
} from "../../src/runtime/drivers/contract/contract-bench.ts";
import type { Driver } from "../../src/runtime/drivers/driver.ts";
import { createHostDriver } from "../../src/runtime/drivers/host/host-driver.ts";
import { createOciDriver } from "../../src/runtime/drivers/oci/oci-driver.ts";
import { findReaper } from "../../src/runtime/drivers/oci/perl-reaper.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { bundle } from "../support/programs/bundle.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";

const kills = 1 + rounds(1);

describeWithTool("busybox", "a daemon killed at any moment", () => {
  const layout = detectCgroupLayout();
  killedWith("host", (stateDir) => createHostDriver({ stateDir, layout, clock: systemClock }));
  describeWithTool("runc", "over runc", () => {
    const openOci = (findConmon: () => string | undefined) => (stateDir: string) =>
      createOciDriver({
        stateDir,
        runtime: { name: "runc", path: toolPath("runc") },
        conmon: findConmon(),
        layout,
        clock: systemClock,
        limitations: [],
      });
    describeWithTool("conmon", "with conmon", () =>
      killedWith(
        "oci",
        openOci(() => toolPath("conmon")),
      ),
    );
    describe.runIf(findReaper())("with our own monitor", () =>
      killedWith(
        "oci-own-monitor",
        openOci(() => undefined),
      ),
    );
  });
});

function killedWith(
  kind: "oci" | "oci-own-monitor" | "host",
  open: (stateDir: string) => Promise<Driver>,
): void {
  let bench: ContractBench;
  beforeAll(async () => {
    bench = await createContractBench({ open, busybox: toolPath("busybox") });
  });
  afterAll(() => bench.dispose());

  it(`leaves nothing with the ${kind} driver that the next one cannot remove`, async () => {
    const daemon = await bundle("test/runtime/driver-crash-daemon.ts");
    const seconds = 2_000_000 + process.pid;
    const spec = bench.spec({ args: ["sh", "-c", `sleep ${seconds} & sleep ${seconds}`], logPath: "" });
    for (let round = 0; round < kills; round++) {
      const child = spawn(process.execPath, [daemon, kind, bench.stateDir, JSON.stringify(spec)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(child, "exit");
      await once(child.stdout, "data");
      // A different moment each time, over the whole of create and start.
      await sleep(20 + (round / kills) * 370);
      child.kill("SIGKILL");
      await exited;
      await bench.reopen({ pauseMs: 0 });
      const left = new Set<string>();
      // Repeated, because work in progress may complete after the daemon was killed.
      await expect
        .poll(async () => {
          for (const id of await bench.driver.list()) left.add(id);
          for (const id of left) await bench.driver.remove(id);
          await sleep(100);
          return {
            listed: await bench.driver.list(),
            traces: [...left].flatMap((id) => bench.traces(id)),
            sleepers: bench.processesWith(new RegExp(`^sleep ${seconds} $`)),
          };
        })
        .toEqual({ listed: [], traces: [], sleepers: [] });
    }
  });
}
