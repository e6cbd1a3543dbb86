import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerFiles } from "../container-files.ts";
import { type AttachStreams, type CallOptions, type ContainerSpec, driverFailed } from "../driver.ts";
import { controlPath, launchMonitor, setupLogPath } from "../monitor/launch-monitor.ts";
import type { OutputPumps } from "../monitor/output-pumps.ts";
import { attachToPipes } from "../monitor/pipe-attach.ts";
import { reapedContainer } from "./perl-reaper.ts";
import { type OciRuntime, runtimeErrorMessage } from "./probe-oci-runtime.ts";

/** Monitors containers in place of the daemon: gets exit codes and holds the streams. */
export interface OciMonitor {
  /** Runs the runtime's `create` in the bundle, which holds config.json; the container's process waits. */
  create(container: MonitoredContainer, options?: CallOptions): Promise<{ pid: number; monitorPid: number }>;
  attach(container: MonitoredContainer): Promise<AttachStreams>;
  reopenLog(container: MonitoredContainer): Promise<void>;
  /** Resolves when all output of an exited container is in its log. */
  settled(containerId: string): Promise<void>;
  /** Called when the container was removed. */
  removed(containerId: string): Promise<void>;
  close(): Promise<void>;
}

interface MonitoredContainer {
  readonly spec: ContainerSpec;
  /** Files of the container; their directory is the bundle. */
  readonly files: ContainerFiles;
}

/** The host driver's monitor with an OCI runtime: a shell, named pipes that the daemon reads, and a reaper in Perl. */
export function createPipeMonitor({
  runtime,
  pumps,
}: {
  runtime: OciRuntime;
  pumps: OutputPumps;
}): OciMonitor {
  return {
    async create(container, { signal } = {}) {
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
        signal,
      });
      const pid = Number(said);
      if (!(pid > 0)) throw driverFailed(`creating container ${spec.id}`, await setupError(container));
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
    ...[runtime.path, "--root", runtime.root, "--log", setupLogPath(files)],
    ...["create", "--bundle", bundle, "--pid-file", pidFile],
  ];
  return reapedContainer({ spec, bundle, pidFile, words });
}

/** Error message of the runtime. */
async function setupError({ files }: MonitoredContainer): Promise<string> {
  const text = await readFile(setupLogPath(files), "utf8").catch(() => "");
  return runtimeErrorMessage(text) || "its monitor ended at once";
}

async function sendSize(
  files: MonitoredContainer["files"],
  { columns, rows }: { columns: number; rows: number },
): Promise<void> {
  try {
    const control = await open(controlPath(files), constants.O_WRONLY | constants.O_NONBLOCK);
    await control.write(`${rows} ${columns}\n`).finally(() => control.close());
  } catch (error) {
    // The container has exited, and its terminal with it.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENXIO" && code !== "ENOENT") throw error;
  }
}
