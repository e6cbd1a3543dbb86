import { readFileSync, readlinkSync } from "node:fs";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { quoteShell } from "../../lib/quote-shell.ts";
import { runQuietly } from "../process/run-quietly.ts";

/** The words that run others in a terminal of their own, from util-linux' `script`. */
export function inTerminal(words: readonly string[], echo: "always" | "never"): [string, string[]] {
  const line = words.map(quoteShell).join(" ");
  return ["script", ["-q", "-e", "-f", "-E", echo, "-c", `exec ${line}`, "/dev/null"]];
}

/** On a terminal the end of input is a character; the line goes on until the program ends. */
export function terminalInput(target: Writable): Writable {
  const endOfInput = Buffer.from([4]);
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void target.write(chunk, (error) => done(error)),
    final: (done) => void target.write(endOfInput, () => done()),
  });
}

export interface TerminalOwner {
  /** The `script` process, once it runs. */
  readonly findScript: () => number | undefined;
  /** Aborts when there is no terminal any more, or nobody who looks at it. */
  readonly ended: AbortSignal;
}

const lookAgainMs = 10;

/**
 * Sets the size of the terminal that `script` gives its child. Clients tell it at once, when there is often none yet:
 * it is waited for, and gets the newest of the sizes that came meanwhile.
 */
export function createTerminalSizer({ findScript, ended }: TerminalOwner) {
  let wanted: { columns: number; rows: number } | undefined;
  let sizing: Promise<void> | undefined;

  async function untilSized(): Promise<void> {
    while (wanted && !ended.aborted) {
      const path = terminalPath(findScript());
      if (path === undefined) {
        await delay(lookAgainMs);
        continue;
      }
      const { columns, rows } = wanted;
      wanted = undefined;
      await runQuietly("stty", ["-F", path, "cols", String(columns), "rows", String(rows)], {
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
