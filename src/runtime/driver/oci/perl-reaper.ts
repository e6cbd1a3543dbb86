import { findProgram } from "../find-program.ts";

/** The numbers of system calls that Node cannot make and Perl only by number. Exported for its test. */
export const systemCallNumbers: Readonly<Record<string, { prctl: number; recvmsg: number }>> = {
  x64: { prctl: 157, recvmsg: 47 },
  arm64: { prctl: 167, recvmsg: 212 },
};

/*
 * A detached runtime leaves the program it has started to whoever adopts it. This process is whom the kernel gives it
 * to as a child: it waits for the program itself and ends as it did. The pieces of Perl that follow are put together
 * into one script, which begins with `$prctl`, `$pidFile` and `@command`.
 */
export const runRuntime = `
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

/** With its orphans, which come to us too where it has no process namespace of its own. */
export const waitForProgram = `
for (;;) {
  my $gone = wait;
  exit(137) if $gone < 0;
  next unless $gone == $pid;
  my $status = $?;
  1 while waitpid(-1, 1) > 0;
  exit(ended($status));
}
`;

/** Perl and the numbers it needs; undefined where there is none. */
export function findReaper(): { perl: string; prctl: number; recvmsg: number } | undefined {
  const perl = findProgram("perl");
  const known = systemCallNumbers[process.arch];
  return perl && known ? { perl, ...known } : undefined;
}
