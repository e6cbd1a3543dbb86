import { type ChildProcess, spawn } from "node:child_process";
import { PassThrough, type Readable } from "node:stream";
import type { AttachStreams } from "../driver.ts";
import { tellConmon } from "./conmon.ts";

/**
 * conmon's attach socket keeps packets apart (SOCK_SEQPACKET), which Node cannot open. Perl, part of every Debian's
 * base system, carries them over: each packet from the socket with its length before it, bytes to it as they are.
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

export async function attachToConmon(
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
  // Backpressure ends here: a client that does not read stops the bridge, and conmon drops slow clients by itself.
  for (const stream of [stdout, stderr]) stream.on("drain", () => child.stdout?.resume());
  return {
    stdin: child.stdin ?? undefined,
    stdout,
    stderr: options.terminal ? undefined : stderr,
    resize: (columns, rows) => tellConmon(bundle, { kind: "resize", columns, rows }),
    close: () => void child.kill("SIGKILL"),
  };
}

/** Splits the bridge's output into packets; resolves at the first, which says that the socket is open. */
function connected(child: ChildProcess, onPacket: (packet: Buffer) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let pending: Buffer = Buffer.alloc(0);
    let complaint = "";
    const output = child.stdout as Readable;
    child.stderr?.on("data", (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", () => reject(new Error(`attaching: ${complaint.trim() || "the container is gone"}`)));
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
