import { invalidArgument } from "../runtime-error.ts";

/** CRI's rules for which streams an exec or attach may ask for. */
export function checkStreams(request: {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}): void {
  const { stdin, stdout, stderr, tty } = request;
  if (!stdin && !stdout && !stderr)
    throw invalidArgument("one of stdin, stdout and stderr must be asked for");
  if (tty && stderr) throw invalidArgument("with a tty everything comes on stdout: stderr must be false");
}
