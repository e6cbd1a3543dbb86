import { messageOf } from "../../lib/message-of.ts";
/** Why something about images failed. The CRI server translates the code once, at its edge. */
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
  /** How long the far end asks us to wait before we try again. */
  readonly retryAfterMs: number;

  constructor(code: ImageErrorCode, message: string, options?: { cause?: unknown; retryAfterMs?: number }) {
    super(message, options);
    this.name = "ImageError";
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs ?? 0;
  }
}

/** Whether asking again may help: the network's failures only. */
export function isTransient(error: unknown): boolean {
  return error instanceof ImageError && error.code === "network";
}

/** What the file system said, as an ImageError: a full disk is told apart, since only a person can help there. */
export function fromSystemError(error: unknown, doing: string): ImageError {
  if (error instanceof ImageError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const text = messageOf(error);
  // Programs say it in words.
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
