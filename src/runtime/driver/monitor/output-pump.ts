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

export interface OutputSource {
  readonly dir: string;
  /** Empty: no log. */
  readonly logPath: string;
  readonly clock: Clock;
  /** Some of the output is not in the log. */
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
      // One chunk at a time: a disk that is slow slows the container down, not our memory up.
      for await (const chunk of sockets[stream] as AsyncIterable<Buffer>) {
        await log?.append(lines.push(chunk, now()));
        for (const watcher of watchers) await show(watcher[stream], chunk, clock);
      }
    } catch {
      // Closed by us: the next daemon goes on.
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

/** A client that does not read for this long misses output, until it reads again, rather than stopping the container. */
const patienceMs = 5000;

async function show(stream: PassThrough, chunk: Buffer, clock: Clock): Promise<void> {
  if (stream.destroyed || stream.writableNeedDrain || stream.write(chunk)) return;
  const waited = new AbortController();
  const end = () => waited.abort();
  for (const event of ["drain", "close"]) stream.once(event, end);
  await clock.sleep(patienceMs, waited.signal).catch(() => {});
  for (const event of ["drain", "close"]) stream.off(event, end);
}

/** Not through a file stream: its reads would each hold a thread of the pool for as long as nothing comes. */
function openPipe(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

/** What a container said last while there was no daemon; its monitor has left it in files. */
export async function collectLastOutput(options: OutputSource): Promise<void> {
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
