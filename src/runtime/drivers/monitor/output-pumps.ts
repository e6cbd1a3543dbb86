import { constants, existsSync, openSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { createCriLogLines } from "../../../cri/log-lines.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { readMade, readSpec, type StateDir } from "../container-files.ts";
import type { ContainerSpec } from "../driver.ts";
import { isAlive } from "../linux/process-info.ts";
import { createCriTime, type LogFile, openLogFile } from "./log-file.ts";

/** Output pumps of all containers with the built-in monitor. */
export interface OutputPumps {
  /** File with the PID of the daemon that reads the pipes; monitors read it when their container has exited. */
  readonly daemonPidFile: string;
  start(spec: ContainerSpec): Promise<void>;
  find(containerId: string): OutputPump | undefined;
  /** Resolves when all output of an exited container is in its log, at the latest after a timeout. */
  settled(containerId: string): Promise<void>;
  drop(containerId: string): Promise<void>;
  close(): Promise<void>;
}

/** Limitation of drivers with such monitors. */
export const outputWaitsForDaemon =
  "While the daemon is down, a container that has written 64 KiB of output waits for it to come back.";

const lastOutputMs = 1000;

/** Opens the pumps and continues with the output of containers that an earlier daemon started. */
export async function openOutputPumps({
  state,
  clock,
  logger,
}: {
  state: StateDir;
  clock: Clock;
  logger: Logger;
}): Promise<OutputPumps> {
  const daemonPidFile = join(state.root, "daemon.pid");
  const pumps = new Map<string, OutputPump>();
  const source = ({ id, logPath }: ContainerSpec): OutputSource => ({
    dir: state.container(id).dir,
    logPath,
    clock,
    onLoss: (error) => logger.warn("output of a container is lost", { container: id, logPath, error }),
  });
  for (const containerId of await state.list())
    await adopt(containerId).catch((error) =>
      logger.warn("cannot continue with the output of a container", { container: containerId, error }),
    );
  // From here on the monitors leave the last output to this daemon.
  await writeFile(daemonPidFile, String(process.pid));

  async function adopt(containerId: string): Promise<void> {
    const files = state.container(containerId);
    const [spec, made] = [await readSpec(files), await readMade(files)];
    if (!spec || !made || !hasOwnMonitor(files.dir)) return;
    if (isAlive(made.monitor)) pumps.set(containerId, await resume(source(spec)));
    else await collectLastOutput(source(spec));
  }

  /** Starts a pump, without a log if that cannot be opened: a container whose output is not read would block. */
  function resume(from: OutputSource): Promise<OutputPump> {
    return startOutputPump(from).catch((error) => {
      from.onLoss(error);
      return startOutputPump({ ...from, logPath: "" });
    });
  }

  return {
    daemonPidFile,
    async start(spec) {
      pumps.set(spec.id, await startOutputPump(source(spec)));
    },
    find: (containerId) => pumps.get(containerId),
    async settled(containerId) {
      await Promise.race([pumps.get(containerId)?.ended, clock.sleep(lastOutputMs)]);
    },
    async drop(containerId) {
      await pumps.get(containerId)?.close();
      pumps.delete(containerId);
    },
    async close() {
      await rm(daemonPidFile, { force: true });
      await Promise.all([...pumps.values()].map((pump) => pump.close()));
      pumps.clear();
    },
  };
}

/** Whether the container has the built-in monitor; conmon has no such pipe. */
export function hasOwnMonitor(containerDir: string): boolean {
  return existsSync(join(containerDir, "out"));
}

/** Copies a container's output from its named pipes to the log and to attached clients. */
export interface OutputPump {
  attach(): { stdout: PassThrough; stderr: PassThrough; detach: () => void };
  reopenLog(): Promise<void>;
  /** Resolves when the container and its monitor have exited and everything is in the log. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export interface OutputSource {
  readonly dir: string;
  /** Path of the log; empty for no log. */
  readonly logPath: string;
  readonly clock: Clock;
  /** Called when output could not be written to the log. */
  readonly onLoss: (error: unknown) => void;
}

export async function startOutputPump(options: OutputSource): Promise<OutputPump> {
  const { clock } = options;
  const log = options.logPath ? await openLogFile(options.logPath, options.onLoss) : undefined;
  const watchers = new Set<{ stdout: PassThrough; stderr: PassThrough }>();
  const now = logTime(clock);
  const sockets = { stdout: openPipe(`${options.dir}/out`), stderr: openPipe(`${options.dir}/err`) };

  async function carry(stream: "stdout" | "stderr"): Promise<void> {
    const lines = createCriLogLines(stream);
    try {
      // One chunk at a time: a slow disk slows down the container rather than filling memory.
      for await (const chunk of sockets[stream] as AsyncIterable<Buffer>) {
        await log?.append(lines.push(chunk, now()));
        for (const watcher of watchers) await show(watcher[stream], chunk, clock);
      }
    } catch {
      // Closed by this daemon: the next one continues.
    }
    await log?.append(lines.end(now()));
  }

  const ended = Promise.all([carry("stdout"), carry("stderr")])
    .then(async () => {
      await log?.close();
      await collectLastOutput(options);
    })
    .catch(options.onLoss)
    .finally(() => {
      for (const watcher of watchers) for (const stream of [watcher.stdout, watcher.stderr]) stream.end();
    });

  return {
    attach() {
      const watcher = { stdout: new PassThrough(), stderr: new PassThrough() };
      watchers.add(watcher);
      const detach = () => {
        watchers.delete(watcher);
        for (const stream of [watcher.stdout, watcher.stderr]) stream.end();
      };
      return { ...watcher, detach };
    },
    reopenLog: async () => log?.reopen(),
    ended,
    async close() {
      for (const socket of Object.values(sockets)) socket.destroy();
      await ended;
    },
  };
}

/** Maximum wait for a client that does not read. It then misses output, rather than blocking the container. */
const clientTimeoutMs = 5000;

async function show(stream: PassThrough, chunk: Buffer, clock: Clock): Promise<void> {
  if (stream.destroyed || stream.writableNeedDrain || stream.write(chunk)) return;
  const waited = new AbortController();
  const end = () => waited.abort();
  for (const event of ["drain", "close"]) stream.once(event, end);
  await clock.sleep(clientTimeoutMs, waited.signal).catch(() => {});
  for (const event of ["drain", "close"]) stream.off(event, end);
}

/** Opens a pipe as a socket: reads of a file stream would each occupy a thread of the pool while nothing arrives. */
function openPipe(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

/** Collects the last output of a container while no daemon ran, which its monitor left in files. */
async function collectLastOutput(options: OutputSource): Promise<void> {
  for (const [name, stream] of [["out", "stdout"] as const, ["err", "stderr"] as const]) {
    const path = `${options.dir}/${name}.rest`;
    const rest = await readFile(path).catch(() => undefined);
    if (!rest) continue;
    if (options.logPath && rest.length > 0) await appendLines(options, stream, rest);
    await rm(path, { force: true });
  }
}

async function appendLines(
  { logPath, clock, onLoss }: OutputSource,
  stream: "stdout" | "stderr",
  bytes: Buffer,
): Promise<void> {
  const log: LogFile = await openLogFile(logPath, onLoss);
  const lines = createCriLogLines(stream);
  const time = logTime(clock)();
  await log.append(Buffer.concat([lines.push(bytes, time), lines.end(time)]));
  await log.close();
}

function logTime(clock: Clock): () => string {
  return createCriTime({ nowMs: () => clock.now(), monotonicNanos: () => process.hrtime.bigint() });
}
