import { findProgram } from "../find-program.ts";

/** The number of prctl(2), which Node cannot call and Perl only by number. */
const prctlNumbers: Readonly<Record<string, number>> = { x64: 157, arm64: 167 };

/*
 * A foreground `runc exec` ends when its outputs close, not when the program does: something left in the background
 * holds it up for ever. So it runs detached, and this process, to which the kernel then gives the program as a child,
 * waits for the program itself and ends as it did.
 */
const reaper = `
use strict;
my ($prctl, $pidFile, @command) = @ARGV;
my $setChildSubreaper = 36;
syscall($prctl + 0, $setChildSubreaper, 1, 0, 0, 0) == 0 or die "prctl: $!\\n";
my $runtime = fork // die "fork: $!\\n";
if (!$runtime) { exec { $command[0] } @command or die "$command[0]: $!\\n"; }
waitpid($runtime, 0);
exit($? & 127 ? 128 + ($? & 127) : $? >> 8) if $?;
open(my $file, "<", $pidFile) or die "$pidFile: $!\\n";
my $pid = <$file> + 0;
close $file;
open(STDIN, "<", "/dev/null"); open(STDOUT, ">", "/dev/null");
waitpid($pid, 0) == $pid or exit 137;
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
`;

/** The command that waits for the program which a detached one starts; undefined where there is no way to. */
export function reapedCommand(
  words: readonly string[],
  { pidFile }: { pidFile: string },
): readonly [string, ...string[]] | undefined {
  const perl = findProgram("perl");
  const prctl = prctlNumbers[process.arch];
  return perl && prctl ? [perl, "-e", reaper, String(prctl), pidFile, ...words] : undefined;
}
