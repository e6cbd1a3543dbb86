import type { PodSandboxConfig } from "../../cri/generated/cri.ts";
import { messageOf } from "../../lib/message-of.ts";
import { invalidArgument } from "../failure.ts";
import { type AnnotatedScripts, parseAnnotations } from "../script/annotations.ts";

/** What the pod says of itself; badly written, the call fails with how to write it. */
export function annotatedScripts({ annotations }: PodSandboxConfig): AnnotatedScripts | undefined {
  try {
    return parseAnnotations(annotations);
  } catch (error) {
    throw invalidArgument(messageOf(error));
  }
}
