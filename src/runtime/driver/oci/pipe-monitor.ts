import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { driverFailed } from "../driver-error.ts";
import { complaintsPath, controlPath, launchMonitor } from "../monitor/launch-monitor.ts";
import type { OutputPumps } from "../monitor/output-pumps.ts";
import { attachToPipes } from "../monitor/pipe-attach.ts";
import type { MonitoredContainer, OciMonitor } from "./oci-monitor.ts";
import { type OciRuntime, readableComplaint } from "./oci-runtime.ts";
import { reapedContainer } from "./reaped-container.ts";

/** The host driver's monitor around an OCI runtime: a shell, named pipes that the daemon reads, and a reaper in Perl. */
export function createPipeMonitor({
  runtime,
  pumps,
}: {
  runtime: OciRuntime;
  pumps: OutputPumps;
}): OciMonitor {
  return {
    async create(container) {
      const { spec, files } = container;
      const launchScript = launchScriptOf(container, runtime);
      if (!launchScript)
        throw driverFailed(`creating container ${spec.id}`, "neither conmon nor perl is installed");
      const { daemonPidFile } = pumps;
      const { monitorPid, said } = await launchMonitor({
        spec,
        files,
        launchScript,
        daemonPidFile,
        terminalBy: "launch",
      });
      const pid = Number(said);
      if (!(pid > 0)) throw driverFailed(`creating container ${spec.id}`, await complaintOf(container));
      await pumps.start(spec);
      return { pid, monitorPid };
    },
    async attach({ spec, files }) {
      const pump = pumps.find(spec.id);
      if (!pump) throw new Error("attaching: the container is gone");
      const resizer = () => (columns: number, rows: number) => sendSize(files, { columns, rows });
      return attachToPipes({ dir: files.dir, spec, pump, resizer });
    },
    reopenLog: async ({ spec }) => pumps.find(spec.id)?.reopenLog(),
    settled: (containerId) => pumps.settled(containerId),
    removed: (containerId) => pumps.drop(containerId),
    close: () => pumps.close(),
  };
}

function launchScriptOf({ spec, files }: MonitoredContainer, runtime: OciRuntime): string | undefined {
  const bundle = files.dir;
  const pidFile = join(bundle, "pid");
  const words = [
    ...[runtime.path, "--root", runtime.root, "--log", complaintsPath(files)],
    ...["create", "--bundle", bundle, "--pid-file", pidFile],
  ];
  return reapedContainer({ spec, bundle, pidFile, words });
}

/** The runtime's own words; what else there is on the container's outputs nobody reads any more. */
async function complaintOf({ files }: MonitoredContainer): Promise<string> {
  const text = await readFile(complaintsPath(files), "utf8").catch(() => "");
  return readableComplaint(text) || "its monitor ended at once";
}

async function sendSize(
  files: MonitoredContainer["files"],
  { columns, rows }: { columns: number; rows: number },
): Promise<void> {
  try {
    const control = await open(controlPath(files), constants.O_WRONLY | constants.O_NONBLOCK);
    await control.write(`${rows} ${columns}\n`).finally(() => control.close());
  } catch (error) {
    // Nobody reads it any more: the container is gone, and its terminal with it.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENXIO" && code !== "ENOENT") throw error;
  }
}
