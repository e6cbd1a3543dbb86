import type { Readable } from "node:stream";

/** One exec or attach connection, whatever protocol carries it. */
export interface StreamSession {
  /** What the client types; ends when it closes its side. */
  readonly stdin: Readable;
  /** Aborts when the client is gone. */
  readonly closed: AbortSignal;
  /** Resolves when there is room for more. */
  write(channel: OutputChannel, data: Buffer): Promise<void>;
  onResize(listener: (size: TerminalSize) => void): void;
  /** Says how it ended, then closes. */
  finish(outcome: StreamOutcome): Promise<void>;
}

/** What the CRI call asked for, and clients therefore open. */
export interface OfferedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export type OutputChannel = "stdout" | "stderr";

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export type StreamOutcome =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "failed"; readonly message: string };

/** The `Status` object that goes over the error channel, as kubectl reads exit codes from it. */
export function outcomeStatus(outcome: StreamOutcome): string {
  if (outcome.kind === "exited" && outcome.exitCode === 0)
    return JSON.stringify({ metadata: {}, status: "Success" });
  if (outcome.kind === "failed")
    return JSON.stringify({
      metadata: {},
      status: "Failure",
      message: outcome.message,
      reason: "InternalError",
      details: { causes: [{ message: outcome.message }] },
      code: 500,
    });
  const { exitCode } = outcome;
  return JSON.stringify({
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: error executing command, exit code ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  });
}

/** A message of the resize channel: `{"Width": 80, "Height": 24}`. Undefined for what is none. */
export function parseTerminalSize(text: string): TerminalSize | undefined {
  try {
    const { Width: columns, Height: rows } = JSON.parse(text);
    const valid = (count: unknown) => Number.isInteger(count) && Number(count) > 0 && Number(count) < 65_536;
    return valid(columns) && valid(rows) ? { columns, rows } : undefined;
  } catch {
    return undefined;
  }
}

/** Clients send their terminal's size at once, often before the process is there: the last one is told later. */
export function createSizeRelay() {
  let last: TerminalSize | undefined;
  let listener: ((size: TerminalSize) => void) | undefined;
  return {
    tell(size: TerminalSize): void {
      last = size;
      listener?.(size);
    },
    listen(heard: (size: TerminalSize) => void): void {
      listener = heard;
      if (last) heard(last);
    },
  };
}
