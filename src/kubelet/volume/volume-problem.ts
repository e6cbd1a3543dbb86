import { messageOf } from "../../lib/message-of.ts";
/** A failure whose event does not begin as most do: `message` is the whole text. */
export class VolumeProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "VolumeProblem";
  }
}

/** The text of the event about a volume that could not be made. */
export function mountFailure(volumeName: string, error: unknown): string {
  const message = messageOf(error);
  if (error instanceof VolumeProblem) return message;
  return `MountVolume.SetUp failed for volume "${volumeName}" : ${message}`;
}
