// To be run in a separate mount namespace in which every mount is shared, as systemd leaves a machine: what of a
// container that shares a volume back shows outside of it, while it runs and when it is gone.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createContractBench, until } from "../../src/runtime/drivers/contract/contract-bench.ts";
import { createHostDriver } from "../../src/runtime/drivers/host/host-driver.ts";

const [busybox = ""] = process.argv.slice(2);
const bench = await createContractBench({
  busybox,
  open: (stateDir) => createHostDriver({ stateDir, layout: detectCgroupLayout(), clock: systemClock }),
});
const volume = bench.directory("volume");
mkdirSync(join(volume, "made-inside"));
const before = mountPoints("/proc/self/mountinfo");
const mount = { readonly: false, recursiveReadonly: false } as const;
const spec = await bench.started({
  args: [
    ...["sh", "-c"],
    "cat /proc/self/mountinfo > /both/seen; mount -t tmpfs tmpfs /both/made-inside; touch /both/made-inside/flag; sleep 1000",
  ],
  security: { ...bench.spec({}).security, privileged: true },
  terminal: true,
  mounts: [
    { ...mount, source: volume, destination: "/both", propagation: "bidirectional" },
    { ...mount, source: "/", destination: "/machine", propagation: "private" },
  ],
});
await until(() => existsSync(join(volume, "made-inside/flag")));
const seen = join(volume, "seen");
const shared = mountPoints(seen, (line) => line.includes(" shared:"));
const scaffold = mountPoints(seen).filter((path) => path.startsWith("/machine/proc/fs/"));
const during = mountPoints("/proc/self/mountinfo");
await bench.driver.remove(spec.id);
const after = mountPoints("/proc/self/mountinfo");
execFileSync("umount", [join(volume, "made-inside")]);
await bench.dispose();

const added = (now: string[]) =>
  now.filter((path) => !before.includes(path)).map((path) => path.replace(volume, "VOLUME"));
// Other mounts may disappear meanwhile: removing a directory detaches its mounts in every namespace.
const lost = ["/", "/proc", "/sys", "/dev"].filter((path) => !after.includes(path));
console.log(JSON.stringify({ shared, scaffold, during: added(during), after: added(after), lost }));

function mountPoints(file: string, wanted: (line: string) => boolean = () => true): string[] {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean).filter(wanted);
  return lines.map((line) => line.split(" ")[4] ?? "");
}
