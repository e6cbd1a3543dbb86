import type { Readable } from "node:stream";

/** Exec or attach connection, independent of its protocol. */
export interface StreamSession {
  /** Input of the client; ends when the client closes its side. */
  readonly stdin: Readable;
  /** Aborts when the client has disconnected. */
  readonly closed: AbortSignal;
  /** Writes data. Resolves when more can be written. */
  write(channel: OutputChannel, data: Buffer): Promise<void>;
  onResize(listener: (size: TerminalSize) => void): void;
  /** Reports the outcome and closes the connection. */
  finish(outcome: StreamOutcome): Promise<void>;
}

/** Streams that the CRI call requested and clients therefore open. */
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

export function isSuccess(outcome: StreamOutcome): boolean {
  return outcome.kind === "exited" && outcome.exitCode === 0;
}

/** Message of a failure, in upstream's words. */
export function failureMessage(outcome: StreamOutcome): string {
  return outcome.kind === "failed"
    ? outcome.message
    : `command terminated with non-zero exit code: error executing command, exit code ${outcome.exitCode}`;
}

/** `Status` object for the error channel, from which kubectl reads exit codes. */
export function outcomeStatus(outcome: StreamOutcome): string {
  if (isSuccess(outcome)) return JSON.stringify({ metadata: {}, status: "Success" });
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
    message: failureMessage(outcome),
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  });
}

/** Parses a message of the resize channel: `{"Width": 80, "Height": 24}`. Undefined if it is invalid. */
export function parseTerminalSize(text: string): TerminalSize | undefined {
  try {
    const { Width: columns, Height: rows } = JSON.parse(text);
    const valid = (count: unknown) => Number.isInteger(count) && Number(count) > 0 && Number(count) < 65_536;
    return valid(columns) && valid(rows) ? { columns, rows } : undefined;
  } catch {
    return undefined;
  }
}

/** Relays terminal sizes. Clients send the first one at once, often before the process exists: the last one is kept. */
export function createSizeRelay() {
  let last: TerminalSize | undefined;
  let listener: ((size: TerminalSize) => void) | undefined;
  return {
    send(size: TerminalSize): void {
      last = size;
      listener?.(size);
    },
    listen(onSize: (size: TerminalSize) => void): void {
      listener = onSize;
      if (last) onSize(last);
    },
  };
}
