import { systemClock } from "../../src/lib/clock.ts";
import { describeDriverContract } from "../../src/runtime/driver/driver.contract.ts";
import { detectCgroupLayout } from "../../src/runtime/driver/linux/cgroup-layout.ts";
import { createOciDriver } from "../../src/runtime/driver/oci/oci-driver.ts";
import { describeWithTool, toolPath } from "../support/tools.ts";

describeWithTool("conmon", "the oci driver", () => {
  describeWithTool("runc", "with runc", () => {
    describeWithTool("busybox", "and conmon", () => {
      describeDriverContract("keeps the contract", {
        busybox: toolPath("busybox"),
        open: (stateDir) =>
          createOciDriver({
            stateDir,
            runtime: { name: "runc", path: toolPath("runc") },
            conmon: toolPath("conmon"),
            layout: detectCgroupLayout(),
            clock: systemClock,
            limitations: [],
          }),
      });
    });
  });
});
