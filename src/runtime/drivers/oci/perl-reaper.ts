import { quoteShell } from "../../../lib/process/run-program.ts";
import type { ContainerSpec } from "../driver.ts";
import { findProgram } from "../find-program.ts";
import { singleThreadedGo } from "./probe-oci-runtime.ts";

/** Numbers of system calls that Node cannot make, and Perl only by number. Exported for its test. */
export const systemCallNumbers: Readonly<Record<string, { prctl: number; recvmsg: number }>> = {
  x64: { prctl: 157, recvmsg: 47 },
  arm64: { prctl: 167, recvmsg: 212 },
};

/*
 * Perl process that adopts the program which a detached runtime started, as the kernel's child subreaper: it waits for
 * the program and exits with its code. The following fragments are combined into one script, which begins with `$prctl`,
 * `$pidFile` and `@command`.
 */
const runRuntime = `
my $setChildSubreaper = 36;
syscall($prctl + 0, $setChildSubreaper, 1, 0, 0, 0) == 0 or die "prctl: $!\\n";
my $runtime = fork // die "fork: $!\\n";
if (!$runtime) { exec { $command[0] } @command or die "$command[0]: $!\\n"; }
waitpid($runtime, 0);
exit(ended($?)) if $?;
open(my $file, "<", $pidFile) or die "$pidFile: $!\\n";
my $pid = <$file> + 0;
close $file;
sub ended { my ($status) = @_; return $status & 127 ? 128 + ($status & 127) : $status >> 8; }
`;

/** Waits for the program and its orphans, which are adopted too if it has no separate PID namespace. */
const waitForProgram = `
for (;;) {
  my $gone = wait;
  exit(137) if $gone < 0;
  next unless $gone == $pid;
  my $status = $?;
  1 while waitpid(-1, 1) > 0;
  exit(ended($status));
}
`;

/** Finds Perl and the numbers it needs; undefined if either is missing. */
export function findReaper(): { perl: string; prctl: number; recvmsg: number } | undefined {
  const perl = findProgram("perl");
  const known = systemCallNumbers[process.arch];
  return perl && known ? { perl, ...known } : undefined;
}

/*
 * A foreground `runc exec` exits when its outputs close, not when the program exits: a process left in the background
 * would block it forever. So it runs detached, and the reaper waits for the program.
 */
const execScript = `
use strict;
my ($prctl, $pidFile, @command) = @ARGV;
${runRuntime}
open(STDIN, "<", "/dev/null"); open(STDOUT, ">", "/dev/null");
${waitForProgram}
`;

/** Command that waits for the program which a detached one starts; undefined if Perl is missing. */
export function reapedCommand(
  words: readonly string[],
  { pidFile }: { pidFile: string },
): readonly [string, ...string[]] | undefined {
  const reaper = findReaper();
  return reaper && [reaper.perl, "-e", execScript, String(reaper.prctl), pidFile, ...words];
}

/*
 * Script of the built-in monitor: runs the runtime's `create`, then waits for the container's process. It writes the PID
 * to descriptor 4 when the container is created.
 */
const plain = `
use strict;
my ($prctl, $pidFile, @command) = @ARGV;
${runRuntime}
open(my $daemon, ">&=", 4); syswrite($daemon, "$pid\\n"); close $daemon;
open(STDIN, "<", "/dev/null"); open(STDOUT, ">", "/dev/null"); open(STDERR, ">", "/dev/null");
${waitForProgram}
`;

/*
 * With a terminal the runtime creates one inside and passes its other end through a socket. Data is copied from
 * descriptor 0 and to descriptor 1; sizes arrive as lines on descriptor 3. Writes never block: a pipe that is full
 * because no daemon reads it must not delay the detection of the container's exit.
 */
const withTerminal = `
use strict;
my ($prctl, $recvmsg, $pidFile, @command) = @ARGV;
unlink "console";
socket(my $listener, 1, 1, 0) or die "socket: $!\\n";
bind($listener, pack("S Z108", 1, "console")) or die "bind: $!\\n";
listen($listener, 1) or die "listen: $!\\n";
${runRuntime}
accept(my $peer, $listener) or die "accept: $!\\n";
my $name = "x" x 4096; my $vector = pack("P Q", $name, 4096);
my $rights = "x" x 24; my $message = pack("Q Q P Q P Q Q", 0, 0, $vector, 1, $rights, 24, 0);
syscall($recvmsg + 0, fileno($peer), $message, 0) > 0 or die "recvmsg: $!\\n";
open(my $terminal, "+<&=", unpack("x16 l", $rights)) or die "terminal: $!\\n";
close $peer; close $listener; unlink "console";
open(my $control, "<&=", 3) or die "control: $!\\n";
open(my $daemon, ">&=", 4); syswrite($daemon, "$pid\\n"); close $daemon;
open(STDERR, ">", "/dev/null");

my ($setSize, $nonBlocking, $getFlags, $setFlags, $noHang) = (0x5414, 04000, 3, 4, 1);
fcntl($terminal, $setFlags, fcntl($terminal, $getFlags, 0) | $nonBlocking);
my ($tryAgain, $interrupted) = (11, 4);
my ($status, $shown, $typed, $lines, $open) = (undef, "", "", "", 1);
$SIG{CHLD} = sub {};
for (;;) {
  while ((my $gone = waitpid(-1, $noHang)) > 0) { $status = $? if $gone == $pid; }
  # After the exit, the last output is still in the terminal; a running daemon reads it soon.
  my $timeout = defined $status && $shown eq "" ? 0 : 1;
  last if !more($timeout) && defined $status;
}
exit(ended($status));

sub more {
  my ($timeout) = @_;
  my ($read, $write) = ("", "");
  vec($read, 0, 1) = 1 if $typed eq "" && !defined $status;
  vec($read, fileno($control), 1) = 1;
  vec($read, fileno($terminal), 1) = 1 if $open && $shown eq "";
  vec($write, 1, 1) = 1 if $shown ne "";
  vec($write, fileno($terminal), 1) = 1 if $open && $typed ne "";
  if (select($read, $write, undef, $timeout) <= 0) { $open = 1; return 0; }
  if (vec($read, 0, 1)) { sysread(STDIN, $typed, 1024); $typed = "" unless $open; }
  if (vec($read, fileno($control), 1)) { sysread($control, $lines, 1024, length $lines); resize(); }
  if (vec($read, fileno($terminal), 1)) {
    my $count = sysread($terminal, $shown, 4096);
    # No process inside has it open; one may open it again later.
    $open = 0 unless $count || $! == $tryAgain || $! == $interrupted;
    $shown = "" unless $count;
  }
  if (vec($write, 1, 1)) { my $count = syswrite(STDOUT, $shown); $shown = substr($shown, $count) if $count; }
  if (vec($write, fileno($terminal), 1)) {
    my $count = syswrite($terminal, $typed);
    $typed = substr($typed, $count) if $count;
  }
  return 1;
}

sub resize {
  while ($lines =~ s/^(\\d+) (\\d+)\\n//) { ioctl($terminal, $setSize, pack("S4", $1, $2, 0, 0)); }
}
`;

/** Launch script of the monitor; undefined if Perl is missing. */
export function reapedContainer(options: {
  spec: ContainerSpec;
  bundle: string;
  pidFile: string;
  /** Command line of the runtime's `create`, without the container's ID. */
  words: readonly string[];
}): string | undefined {
  const { spec, bundle, pidFile, words } = options;
  const reaper = findReaper();
  if (!reaper) return undefined;
  // The address of a socket is short and the bundle's path may be long, so a relative name is used.
  const command = [...words, ...(spec.terminal ? ["--console-socket", "console"] : []), spec.id];
  const [script, ...numbers] = spec.terminal
    ? [withTerminal, reaper.prctl, reaper.recvmsg]
    : [plain, reaper.prctl];
  const line = [reaper.perl, "-e", script, ...numbers.map(String), pidFile, ...command];
  return `cd ${quoteShell(bundle)} && ${singleThreadedGo} exec ${line.map(quoteShell).join(" ")}\n`;
}
