// A daemon to be killed: makes, starts, stops and removes containers until it is killed.

import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { ContainerSpec } from "../../src/runtime/drivers/driver.ts";
import { findProgram } from "../../src/runtime/drivers/find-program.ts";
import { createHostDriver } from "../../src/runtime/drivers/host/host-driver.ts";
import { createOciDriver } from "../../src/runtime/drivers/oci/oci-driver.ts";

const [kind = "", stateDir = "", specText = "{}"] = process.argv.slice(2);
const spec = JSON.parse(specText) as ContainerSpec;
const layout = detectCgroupLayout();
const driver =
  kind === "host"
    ? await createHostDriver({ stateDir, layout, clock: systemClock })
    : await createOciDriver({
        stateDir,
        runtime: { name: "runc", path: findProgram("runc") ?? "runc" },
        conmon: kind === "oci" ? findProgram("conmon") : undefined,
        layout,
        clock: systemClock,
        limitations: [],
      });

console.log("ready");
async function keepMaking(line: number): Promise<never> {
  for (let turn = 0; ; turn++) {
    const id = `crash-${process.pid}-${line}-${turn}`;
    await driver.create({ ...spec, id });
    await driver.start(id);
    if (turn % 2 === 0) continue;
    await driver.kill(id, "KILL");
    await driver.remove(id);
  }
}
await Promise.all([keepMaking(0), keepMaking(1)]);
