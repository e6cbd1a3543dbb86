import { existsSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import type { Clock } from "../../../lib/clock.ts";
import { driverFailed } from "../driver-error.ts";
import { createWithConmon, tellConmon } from "./conmon.ts";
import { attachToConmon } from "./conmon-attach.ts";
import type { OciMonitor } from "./oci-monitor.ts";
import type { OciRuntime } from "./oci-runtime.ts";

const logReopenTimeoutMs = 5000;

/** `conmon` is needed for new containers only: those it already watches over are reached without. */
export function createConmonMonitor(options: {
  conmon: string | undefined;
  runtime: OciRuntime;
  exitsDir: string;
  clock: Clock;
}): OciMonitor {
  const { conmon, runtime, exitsDir, clock } = options;
  return {
    async create({ spec, files }) {
      if (!conmon) throw driverFailed(`creating container ${spec.id}`, "conmon is not installed");
      // conmon would make it readable for root alone.
      if (spec.logPath) await writeFile(spec.logPath, "", { flag: "a", mode: 0o640 });
      return createWithConmon({ conmon, runtime, spec, bundle: files.dir, exitsDir });
    },
    attach: ({ spec, files }) => attachToConmon(files.dir, spec),
    async reopenLog({ spec, files }) {
      if (!spec.logPath || existsSync(spec.logPath)) return;
      await tellConmon(files.dir, { kind: "reopenLog" });
      const deadline = clock.now() + logReopenTimeoutMs;
      while (!existsSync(spec.logPath)) {
        if (clock.now() > deadline)
          throw driverFailed(`log of container ${spec.id}`, "conmon did not reopen it");
        await clock.sleep(5);
      }
      await chmod(spec.logPath, 0o640);
    },
    // conmon writes the log to its end before the exit code.
    settled: async () => {},
    removed: async () => {},
    close: async () => {},
  };
}
