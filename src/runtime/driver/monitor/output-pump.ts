import { constants, openSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { PassThrough, type Readable } from "node:stream";
import { createCriLogLines } from "../../../cri/log-lines.ts";
import type { Clock } from "../../../lib/clock.ts";
import { createCriTime } from "../../container-log/cri-time.ts";
import { type LogFile, openLogFile } from "../../container-log/log-file.ts";

/** Carries a container's output from its named pipes into the log, and to who is attached. */
export interface OutputPump {
  attach(): { stdout: PassThrough; stderr: PassThrough; detach: () => void };
  reopenLog(): Promise<void>;
  /** When the container and its monitor are gone and everything is in the log. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export async function startOutputPump(options: {
  dir: string;
  logPath: string;
  clock: Clock;
}): Promise<OutputPump> {
  const log = options.logPath ? await openLogFile(options.logPath) : undefined;
  const watchers = new Set<{ stdout: PassThrough; stderr: PassThrough }>();
  const now = logTime(options.clock);
  const sockets = { stdout: openPipe(`${options.dir}/out`), stderr: openPipe(`${options.dir}/err`) };

  async function carry(stream: "stdout" | "stderr"): Promise<void> {
    const lines = createCriLogLines(stream);
    try {
      // One chunk at a time: a disk that is slow slows the container down, not our memory up.
      for await (const chunk of sockets[stream] as AsyncIterable<Buffer>) {
        await log?.append(lines.push(chunk, now()));
        for (const watcher of watchers) if (!watcher[stream].write(chunk)) await drainOrDrop(watcher[stream]);
      }
    } catch {
      // Closed by us: the next daemon goes on.
    }
    await log?.append(lines.end(now()));
  }

  const ended = Promise.all([carry("stdout"), carry("stderr")]).then(async () => {
    await log?.close();
    await collectLastOutput(options);
    for (const watcher of watchers) for (const stream of [watcher.stdout, watcher.stderr]) stream.end();
  });
  ended.catch(() => {});

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

/** A client that does not read for this long misses output rather than stopping the container. */
const patienceMs = 5000;

function drainOrDrop(stream: PassThrough): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, patienceMs);
    function done(): void {
      clearTimeout(timer);
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    }
    stream.once("drain", done);
    stream.once("close", done);
  });
}

/** Not through a file stream: its reads would each hold a thread of the pool for as long as nothing comes. */
function openPipe(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

/** What a container said last while there was no daemon; its monitor has left it in files. */
export async function collectLastOutput(options: {
  dir: string;
  logPath: string;
  clock: Clock;
}): Promise<void> {
  for (const [name, stream] of [["out", "stdout"] as const, ["err", "stderr"] as const]) {
    const path = `${options.dir}/${name}.rest`;
    const rest = await readFile(path).catch(() => undefined);
    if (!rest) continue;
    if (options.logPath && rest.length > 0)
      await appendLines(options.logPath, stream, rest, logTime(options.clock)());
    await rm(path, { force: true });
  }
}

async function appendLines(
  logPath: string,
  stream: "stdout" | "stderr",
  bytes: Buffer,
  time: string,
): Promise<void> {
  const log: LogFile = await openLogFile(logPath);
  const lines = createCriLogLines(stream);
  await log.append(Buffer.concat([lines.push(bytes, time), lines.end(time)]));
  await log.close();
}

function logTime(clock: Clock): () => string {
  return createCriTime({ nowMs: () => clock.now(), monotonicNanos: () => process.hrtime.bigint() });
}
