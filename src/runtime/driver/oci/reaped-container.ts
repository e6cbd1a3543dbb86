import { quoteShell } from "../../../lib/quote-shell.ts";
import type { ContainerSpec } from "../driver.ts";
import { briefGo } from "./oci-runtime.ts";
import { findReaper, runRuntime, waitForProgram } from "./perl-reaper.ts";

/*
 * What a container's own monitor runs: the runtime's `create`, then the wait for the container's process. When it is
 * made its pid is told on descriptor 4.
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
 * With a terminal the runtime makes one inside and hands its other end over, through a socket. Its bytes are carried
 * from descriptor 0 and to descriptor 1, its sizes come as lines on descriptor 3. No write ever waits: a pipe that is
 * full because no daemon reads it must not keep us from seeing the container's end.
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
  # Once it has ended, what it said last is still in the terminal; a daemon that is there takes it soon.
  my $patience = defined $status && $shown eq "" ? 0 : 1;
  last if !more($patience) && defined $status;
}
exit(ended($status));

sub more {
  my ($patience) = @_;
  my ($read, $write) = ("", "");
  vec($read, 0, 1) = 1 if $typed eq "" && !defined $status;
  vec($read, fileno($control), 1) = 1;
  vec($read, fileno($terminal), 1) = 1 if $open && $shown eq "";
  vec($write, 1, 1) = 1 if $shown ne "";
  vec($write, fileno($terminal), 1) = 1 if $open && $typed ne "";
  if (select($read, $write, undef, $patience) <= 0) { $open = 1; return 0; }
  if (vec($read, 0, 1)) { sysread(STDIN, $typed, 1024); $typed = "" unless $open; }
  if (vec($read, fileno($control), 1)) { sysread($control, $lines, 1024, length $lines); resize(); }
  if (vec($read, fileno($terminal), 1)) {
    my $count = sysread($terminal, $shown, 4096);
    # Nobody inside has it open; somebody may open it again later.
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

/** The monitor's launch script; undefined where there is no Perl to run it. */
export function reapedContainer(options: {
  spec: ContainerSpec;
  bundle: string;
  pidFile: string;
  /** The runtime's `create`, but for the container's id. */
  words: readonly string[];
}): string | undefined {
  const { spec, bundle, pidFile, words } = options;
  const reaper = findReaper();
  if (!reaper) return undefined;
  // A socket's address is short, a bundle's path may not be: it is named from within.
  const command = [...words, ...(spec.terminal ? ["--console-socket", "console"] : []), spec.id];
  const [script, ...numbers] = spec.terminal
    ? [withTerminal, reaper.prctl, reaper.recvmsg]
    : [plain, reaper.prctl];
  const line = [reaper.perl, "-e", script, ...numbers.map(String), pidFile, ...command];
  return `cd ${quoteShell(bundle)} && ${briefGo} exec ${line.map(quoteShell).join(" ")}\n`;
}
