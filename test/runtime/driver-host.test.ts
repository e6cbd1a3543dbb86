import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { describeDriverContract } from "../../src/runtime/driver/driver.contract.ts";
import { createHostDriver } from "../../src/runtime/driver/host/host-driver.ts";
import { bundle } from "../support/bundle.ts";
import { describeWithTool, toolPath } from "../support/tools.ts";

describeWithTool("busybox", "the host driver", () => {
  describeDriverContract("keeps the contract", {
    busybox: toolPath("busybox"),
    open: (stateDir) => createHostDriver({ stateDir, layout: detectCgroupLayout(), clock: systemClock }),
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
