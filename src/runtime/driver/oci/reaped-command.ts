import { findReaper, runRuntime, waitForProgram } from "./perl-reaper.ts";

/*
 * A foreground `runc exec` ends when its outputs close, not when the program does: something left in the background
 * holds it up for ever. So it runs detached, and the reaper waits for the program.
 */
const script = `
use strict;
my ($prctl, $pidFile, @command) = @ARGV;
${runRuntime}
open(STDIN, "<", "/dev/null"); open(STDOUT, ">", "/dev/null");
${waitForProgram}
`;

/** The command that waits for the program which a detached one starts; undefined where there is no way to. */
export function reapedCommand(
  words: readonly string[],
  { pidFile }: { pidFile: string },
): readonly [string, ...string[]] | undefined {
  const reaper = findReaper();
  return reaper && [reaper.perl, "-e", script, String(reaper.prctl), pidFile, ...words];
}
