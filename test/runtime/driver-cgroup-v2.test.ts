import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type CgroupLayout,
  containerCgroup,
  detectCgroupLayout,
} from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import {
  type ContractBench,
  createContractBench,
} from "../../src/runtime/drivers/contract/contract-bench.ts";
import { describeDriverContract } from "../../src/runtime/drivers/driver.contract.ts";
import type { ContainerSpec } from "../../src/runtime/drivers/driver.ts";
import { createHostDriver } from "../../src/runtime/drivers/host/host-driver.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";
import { describeSlow } from "../support/vitest/slow.ts";

// A machine with both kinds has a real v2 hierarchy, though the controllers are at v1's: making, entering, killing and
// removing can be shown on it. Where there is v2 alone, driver-host.test.ts shows it with the limits.
const { kind, unified = "" } = detectCgroupLayout();
const v2: CgroupLayout = { kind: "v2", v1: {}, unified };
const contract = {
  get busybox() {
    return toolPath("busybox");
  },
  open: (stateDir: string) => createHostDriver({ stateDir, layout: v2, clock: systemClock }),
  withoutControllers: true,
} as const;

describe.runIf(kind === "hybrid")("the host driver on cgroup v2 [needs v1 and v2 side by side]", () => {
  describeWithTool("busybox", "and busybox", () => {
    // driver-host.test.ts has shown the contract on v1.
    describeSlow("and all controllers elsewhere", () =>
      describeDriverContract("keeps the contract", contract),
    );
    describe("limits", describeLimits);
  });
});

function describeLimits(): void {
  let bench: ContractBench;
  beforeAll(async () => {
    bench = await createContractBench(contract);
  });
  afterAll(() => bench.dispose());
  const cgroupOf = (spec: ContainerSpec) => containerCgroup(spec.cgroupParent, spec.id);

  it("puts the program into a separate cgroup there, and measures it", async () => {
    const spec = await bench.started({ args: ["sh", "-c", "while :; do :; done"] });
    const state = await bench.driver.state(spec.id);
    const pid = state.kind === "running" ? state.pid : 0;
    const place = /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1];
    expect(place).toBe(cgroupOf(spec));
    await expect.poll(async () => (await bench.driver.stats(spec.id))?.cpuNanos).toBeGreaterThan(0);
    await bench.driver.remove(spec.id);
    expect(existsSync(join(unified, cgroupOf(spec)))).toBe(false);
  });

  it("reports the limit that is not supported, and leaves nothing behind", async () => {
    const spec = bench.spec({ resources: { memoryLimitBytes: 64 << 20 } });
    await expect(bench.driver.create(spec)).rejects.toThrow(/memory.max=67108864/);
    expect(bench.traces(spec.id)).toEqual([]);
  });

  it.runIf(hasHugePages())("hands down a controller that only `unified` names", async () => {
    const file = "hugetlb.2MB.max";
    const spec = await bench.started({ args: ["sleep", "100"], resources: { unified: { [file]: "0" } } });
    expect(readFileSync(join(unified, cgroupOf(spec), file), "utf8")).toBe("0\n");
  });
}

/** The controller that v1 hierarchies leave over. */
function hasHugePages(): boolean {
  if (kind !== "hybrid" || !existsSync("/sys/kernel/mm/hugepages/hugepages-2048kB")) return false;
  return readFileSync(join(unified, "cgroup.controllers"), "utf8").includes("hugetlb");
}
