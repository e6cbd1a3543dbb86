import { readFileSync, readlinkSync } from "node:fs";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { quoteShell, tryRunProgram } from "../../lib/process/run-program.ts";

/** Command line that runs another one in its own terminal, with util-linux' `script`. */
export function inTerminal(words: readonly string[], echo: "always" | "never"): [string, string[]] {
  const line = words.map(quoteShell).join(" ");
  return ["script", ["-q", "-e", "-f", "-E", echo, "-c", `exec ${line}`, "/dev/null"]];
}

/** Input of a terminal, where the end of input is a character; the stream stays open until the program exits. */
export function terminalInput(target: Writable): Writable {
  const endOfInput = Buffer.from([4]);
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void target.write(chunk, (error) => done(error)),
    final: (done) => void target.write(endOfInput, () => done()),
  });
}

export interface TerminalOwner {
  /** Process ID of `script`, once it runs. */
  readonly findScript: () => number | undefined;
  /** Aborts when the terminal or its last viewer is gone. */
  readonly ended: AbortSignal;
}

const pollMs = 10;

/**
 * Sets the size of the terminal that `script` gives its child. Clients send it at once, often before the terminal
 * exists: the latest size is applied when it does.
 */
export function createTerminalSizer({ findScript, ended }: TerminalOwner) {
  let wanted: { columns: number; rows: number } | undefined;
  let sizing: Promise<void> | undefined;

  async function untilSized(): Promise<void> {
    while (wanted && !ended.aborted) {
      const path = terminalPath(findScript());
      if (path === undefined) {
        await delay(pollMs);
        continue;
      }
      const { columns, rows } = wanted;
      wanted = undefined;
      await tryRunProgram("stty", ["-F", path, "cols", String(columns), "rows", String(rows)], {
        timeoutMs: 5000,
      });
    }
  }

  return async (columns: number, rows: number): Promise<void> => {
    wanted = { columns, rows };
    sizing ??= untilSized().finally(() => {
      sizing = undefined;
    });
    await sizing;
  };
}

function terminalPath(scriptPid: number | undefined): string | undefined {
  try {
    const children = readFileSync(`/proc/${scriptPid}/task/${scriptPid}/children`, "utf8").trim().split(" ");
    const path = readlinkSync(`/proc/${children[0]}/fd/0`);
    return path.startsWith("/dev/pts/") ? path : undefined;
  } catch {
    return undefined;
  }
}
