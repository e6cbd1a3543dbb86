import { execFile } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createContractBench, readLog, until } from "../../src/runtime/drivers/contract/contract-bench.ts";
import { describeDriverContract } from "../../src/runtime/drivers/driver.contract.ts";
import { createHostDriver } from "../../src/runtime/drivers/host/host-driver.ts";
import { bundle } from "../support/programs/bundle.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";

describeWithTool("busybox", "the host driver", () => {
  const open = (stateDir: string) =>
    createHostDriver({ stateDir, layout: detectCgroupLayout(), clock: systemClock });

  describeDriverContract("keeps the contract", {
    get busybox() {
      return toolPath("busybox");
    },
    open,
  });

  it("keeps an exit code that the disk has no room for until there is", async () => {
    const bench = await createContractBench({ busybox: toolPath("busybox"), open });
    try {
      const exits = join(bench.stateDir, "exits");
      bench.mount(["-t", "tmpfs", "-o", "size=4k", "tmpfs", exits], exits);
      const script = "trap 'exit 7' TERM; echo ready; while true; do sleep 0.02; done";
      const { id, logPath } = await bench.started({ args: ["sh", "-c", script] });
      await until(() => readLog(logPath).length === 1);
      writeFileSync(join(exits, "filler"), Buffer.alloc(4096));
      await bench.driver.kill(id, "TERM");
      await until(() => existsSync(join(exits, `${id}.new`)));
      expect(existsSync(join(exits, id))).toBe(false);
      rmSync(join(exits, "filler"));
      expect(await bench.wait(id)).toMatchObject({ exitCode: 7 });
    } finally {
      await bench.dispose();
    }
  });

  it("shows the host nothing but what a container shares back, where all mounts are shared", async () => {
    const program = await bundle("test/runtime/driver-sharing-daemon.ts");
    const script = 'mount --make-rshared / && exec "$@"';
    const { stdout } = await promisify(execFile)("unshare", [
      ...["--mount", "--propagation", "private", "sh", "-c", script, "sh"],
      ...[process.execPath, program, toolPath("busybox")],
    ]);
    const shown = ["VOLUME/made-inside"];
    expect(JSON.parse(stdout)).toEqual({
      shared: ["/both"],
      scaffold: [],
      during: shown,
      after: shown,
      lost: [],
    });
  });
});
