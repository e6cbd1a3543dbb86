import { type ChildProcess, spawn } from "node:child_process";
import { constants, existsSync } from "node:fs";
import { chmod, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import type { Clock } from "../../../lib/clock.ts";
import { quoteShell, runInShell } from "../../../lib/process/run-program.ts";
import { type AttachStreams, type ContainerSpec, driverFailed } from "../driver.ts";
import type { OciMonitor } from "./oci-monitor.ts";
import { type OciRuntime, runtimeErrorMessage, shellFor, singleThreadedGo } from "./probe-oci-runtime.ts";

/**
 * Options of conmon, which monitors a container in place of the daemon: it is the parent that gets the exit code,
 * writes the output to the log and holds the terminal. It takes one to two megabytes per container.
 */
interface ConmonLaunch {
  readonly conmon: string;
  readonly runtime: OciRuntime;
  readonly spec: ContainerSpec;
  /** Directory with config.json; conmon adds its control pipe, attach socket and PID files. */
  readonly bundle: string;
  readonly exitsDir: string;
  readonly signal?: AbortSignal;
}

const createTimeoutMs = 120_000;

/** Runs the runtime's `create` with conmon and returns the PID of the container's waiting process. */
async function createWithConmon(launch: ConmonLaunch): Promise<{ pid: number; monitorPid: number }> {
  const { bundle, spec, signal } = launch;
  const log = join(bundle, "conmon.log");
  const words = [launch.conmon, ...conmonArgs(launch)].map(quoteShell).join(" ");
  // conmon moves to the background and writes one line to descriptor 3 when `create` is done.
  const script = `cd ${quoteShell(bundle)} &&
    ${singleThreadedGo} _OCI_SYNCPIPE=3 ${words} 3>&1 </dev/null >/dev/null 2>${quoteShell(log)} |
    { read -r line; printf %s "$line"; }`;
  try {
    const { output } = await runInShell(script, {
      timeoutMs: createTimeoutMs,
      shell: shellFor(launch.runtime),
      signal,
    });
    const result = parseSyncResult(output);
    if (result.data > 0)
      return { pid: result.data, monitorPid: Number(await readFile(join(bundle, "conmon.pid"), "utf8")) };
    throw new Error(runtimeErrorMessage(result.message ?? "") || (await readFile(log, "utf8")).trim());
  } catch (error) {
    throw driverFailed(`creating container ${spec.id}`, error);
  }
}

function conmonArgs({ runtime, spec, bundle, exitsDir }: ConmonLaunch): string[] {
  return [
    ...["--api-version", "1", "--cid", spec.id, "--cuuid", spec.id, "--name", spec.id],
    ...["--runtime", runtime.path, "--runtime-arg", `--root=${runtime.root}`],
    ...["--bundle", bundle, "--persist-dir", bundle, "--exit-dir", exitsDir, "--full-attach"],
    ...["--container-pidfile", join(bundle, "pid"), "--conmon-pidfile", join(bundle, "conmon.pid")],
    ...[
      "--log-path",
      spec.logPath ? `k8s-file:${spec.logPath}` : "off",
      "--log-level",
      "error",
      "--no-sync-log",
    ],
    ...(spec.terminal ? ["--terminal"] : []),
    ...(spec.stdin ? ["--stdin"] : []),
    // Without it conmon closes the container's stdin when the first client has ended its own (stdinOnce).
    ...(spec.stdin && !spec.stdinOnce ? ["--leave-stdin-open"] : []),
  ];
}

interface SyncResult {
  readonly data: number;
  readonly message?: string;
}

function parseSyncResult(text: string): SyncResult {
  try {
    return JSON.parse(text) as SyncResult;
  } catch {
    return { data: -1, message: text };
  }
}

/** Sends a message to conmon's control pipe. Does nothing when conmon has exited. */
async function sendToConmon(
  bundle: string,
  message: { kind: "resize"; columns: number; rows: number } | { kind: "reopenLog" },
): Promise<void> {
  const line = message.kind === "resize" ? `1 ${message.rows} ${message.columns}\n` : "2 0 0\n";
  try {
    const control = await open(join(bundle, "ctl"), constants.O_WRONLY | constants.O_NONBLOCK);
    await control.write(line).finally(() => control.close());
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENXIO" && code !== "ENOENT") throw error;
  }
}

/**
 * conmon's attach socket preserves packets (SOCK_SEQPACKET), which Node cannot open. Perl, part of Debian's base
 * system, forwards them: each packet from the socket is preceded by its length, bytes to it are unchanged.
 */
const bridge = `
use strict; use Socket;
socket(my $s, AF_UNIX, SOCK_SEQPACKET, 0) or die "socket: $!\\n";
connect($s, pack_sockaddr_un("attach")) or die "connect: $!\\n";
syswrite(STDOUT, pack("N", 0));
my $in = 1;
for (;;) {
  my $r = ""; vec($r, fileno($s), 1) = 1; vec($r, 0, 1) = 1 if $in;
  next if select($r, undef, undef, undef) < 0;
  if (vec($r, fileno($s), 1)) {
    my $n = sysread($s, my $b, 65536); last unless $n;
    my $f = pack("N", $n) . $b;
    for (my $o = 0; $o < length $f;) { my $w = syswrite(STDOUT, $f, length($f) - $o, $o); exit unless $w; $o += $w; }
  }
  if ($in && vec($r, 0, 1)) {
    my $n = sysread(STDIN, my $b, 8192);
    if ($n) { send($s, $b, 0); } else { $in = 0; shutdown($s, 1); }
  }
}`;

const stdoutPacket = 2;
const stderrPacket = 3;

async function attachToConmon(
  bundle: string,
  options: { terminal: boolean; stdin: boolean },
): Promise<AttachStreams> {
  const child = spawn("perl", ["-e", bridge], {
    cwd: bundle,
    stdio: [options.stdin ? "pipe" : "ignore", "pipe", "pipe"],
  });
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  child.stdin?.on("error", () => {});
  await connected(child, (packet) => {
    if (packet[0] === stderrPacket && !options.terminal) return stderr.write(packet.subarray(1));
    return packet[0] === stdoutPacket || packet[0] === stderrPacket ? stdout.write(packet.subarray(1)) : true;
  });
  child.once("close", () => {
    stdout.end();
    stderr.end();
  });
  // A client that does not read stops the bridge, and conmon drops slow clients.
  for (const stream of [stdout, stderr]) stream.on("drain", () => child.stdout?.resume());
  return {
    stdin: child.stdin ?? undefined,
    stdout,
    stderr: options.terminal ? undefined : stderr,
    resize: (columns, rows) => sendToConmon(bundle, { kind: "resize", columns, rows }),
    close: () => void child.kill("SIGKILL"),
  };
}

/** Splits the bridge's output into packets. Resolves at the first one, which reports that the socket is open. */
function connected(child: ChildProcess, onPacket: (packet: Buffer) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let pending: Buffer = Buffer.alloc(0);
    let errorOutput = "";
    const output = child.stdout as Readable;
    child.stderr?.on("data", (chunk: Buffer) => {
      errorOutput += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", () =>
      reject(new Error(`attaching: ${errorOutput.trim() || "the container is gone"}`)),
    );
    output.on("data", (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      while (pending.length >= 4) {
        const length = pending.readUInt32BE(0);
        if (pending.length < 4 + length) break;
        if (length === 0) resolve();
        else if (!onPacket(pending.subarray(4, 4 + length))) output.pause();
        pending = pending.subarray(4 + length);
      }
    });
  });
}

const logReopenTimeoutMs = 5000;

/** Monitor that uses conmon. The program is needed for new containers only, not for existing ones. */
export function createConmonMonitor(options: {
  conmon: string | undefined;
  runtime: OciRuntime;
  exitsDir: string;
  clock: Clock;
}): OciMonitor {
  const { conmon, runtime, exitsDir, clock } = options;
  return {
    async create({ spec, files }, { signal } = {}) {
      if (!conmon) throw driverFailed(`creating container ${spec.id}`, "conmon is not installed");
      // conmon would create it readable for root only.
      if (spec.logPath) await writeFile(spec.logPath, "", { flag: "a", mode: 0o640 });
      return createWithConmon({ conmon, runtime, spec, bundle: files.dir, exitsDir, signal });
    },
    attach: ({ spec, files }) => attachToConmon(files.dir, spec),
    async reopenLog({ spec, files }) {
      if (!spec.logPath || existsSync(spec.logPath)) return;
      await sendToConmon(files.dir, { kind: "reopenLog" });
      const deadline = clock.now() + logReopenTimeoutMs;
      while (!existsSync(spec.logPath)) {
        if (clock.now() > deadline)
          throw driverFailed(`log of container ${spec.id}`, "conmon did not reopen it");
        await clock.sleep(5);
      }
      await chmod(spec.logPath, 0o640);
    },
    // conmon completes the log before it writes the exit code.
    settled: async () => {},
    removed: async () => {},
    close: async () => {},
  };
}
