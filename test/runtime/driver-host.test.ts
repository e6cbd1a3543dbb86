import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { describeDriverContract } from "../../src/runtime/driver/driver.contract.ts";
import { createHostDriver } from "../../src/runtime/driver/host/host-driver.ts";
import { describeWithTool, toolPath } from "../support/tools.ts";

describeWithTool("busybox", "the host driver", () => {
  describeDriverContract("keeps the contract", {
    busybox: toolPath("busybox"),
    open: (stateDir) => createHostDriver({ stateDir, layout: detectCgroupLayout(), clock: systemClock }),
  });
});
