import type { ContainerFiles } from "../container-files.ts";
import type { AttachStreams, ContainerSpec } from "../driver.ts";

/** Who stays with the containers in the daemon's place: learns exit codes, holds the streams. */
export interface OciMonitor {
  /** Has the runtime make the container in the bundle, which holds config.json; its process waits. */
  create(container: MonitoredContainer): Promise<{ pid: number; monitorPid: number }>;
  attach(container: MonitoredContainer): Promise<AttachStreams>;
  reopenLog(container: MonitoredContainer): Promise<void>;
  /** When all that an ended container has said is in its log. */
  settled(containerId: string): Promise<void>;
  /** The container is gone. */
  removed(containerId: string): Promise<void>;
  close(): Promise<void>;
}

export interface MonitoredContainer {
  readonly spec: ContainerSpec;
  /** Their directory is the bundle. */
  readonly files: ContainerFiles;
}
