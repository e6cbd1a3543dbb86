import { type ChildProcess, spawn } from "node:child_process";
import { type TestContext, onTestFinished as whenTestFinished } from "vitest";
import { kindlingProgram } from "../support/programs/run-kindling.ts";
import { createScreen, type Screen } from "./screen.ts";

export interface TerminalRun {
  readonly child: ChildProcess;
  readonly screen: Screen;
  /** Complete output, including escape sequences. */
  raw(): string;
  type(text: string): void;
  readonly exit: Promise<number | null>;
}

interface TerminalOptions {
  readonly columns: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** `onTestFinished` of the test context, for concurrent tests. */
  readonly onTestFinished?: TestContext["onTestFinished"];
}

/** Runs `kindling ARGS` in a pseudo-terminal of that size, made by util-linux's `script`. */
export async function runInTerminal(
  args: readonly string[],
  { columns, rows = 30, env = {}, onTestFinished = whenTestFinished }: TerminalOptions,
): Promise<TerminalRun> {
  const command = [process.execPath, await kindlingProgram(), ...args].map((word) => `'${word}'`).join(" ");
  // The size is there before the program asks for it.
  const line = `stty cols ${columns} rows ${rows}; exec ${command}`;
  const { NO_COLOR: _, ...inherited } = process.env;
  const child = spawn("script", ["-qfec", line, "/dev/null"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...inherited, TERM: "xterm-256color", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const screen = createScreen({ columns, rows });
  let written = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text: string) => {
    written += text;
    screen.write(text);
  });
  return {
    child,
    screen,
    raw: () => written,
    type: (text) => void child.stdin.write(text),
    exit: new Promise((resolve) => child.once("close", resolve)),
  };
}
