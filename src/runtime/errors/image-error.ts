import { messageOf } from "../../lib/message-of.ts";
/** Reason why an operation on images failed. The CRI server maps it to a gRPC status. */
export type ImageErrorCode =
  | "invalidReference"
  | "invalidConfig"
  | "notFound"
  | "unauthorized"
  | "noProgress"
  | "digestMismatch"
  | "invalidArchive"
  | "unsupported"
  | "tooLarge"
  | "network"
  | "noSpace"
  | "inUse"
  | "cancelled"
  | "internal";

export class ImageError extends Error {
  readonly code: ImageErrorCode;
  /** Delay that the registry requests before the next attempt. */
  readonly retryAfterMs: number;

  constructor(code: ImageErrorCode, message: string, options?: { cause?: unknown; retryAfterMs?: number }) {
    super(message, options);
    this.name = "ImageError";
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs ?? 0;
  }
}

/** Whether a retry may succeed; true for network errors only. */
export function isTransient(error: unknown): boolean {
  return error instanceof ImageError && error.code === "network";
}

/**
 * Converts a file system error to an ImageError. A full disk has its own code because only the operator can resolve it.
 */
export function fromSystemError(error: unknown, doing: string): ImageError {
  if (error instanceof ImageError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const text = messageOf(error);
  // Programs report it only in their output.
  if (code === "ENOSPC" || code === "EDQUOT" || /No space left on device|Disk quota exceeded/.test(text)) {
    return new ImageError(
      "noSpace",
      `${doing}: no space left on the device; remove images or free some space`,
      {
        cause: error,
      },
    );
  }
  return new ImageError("internal", `${doing}: ${text}`, { cause: error });
}
