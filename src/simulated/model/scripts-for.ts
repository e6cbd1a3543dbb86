import type { PodSandboxConfig } from "../../cri/generated/cri.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type AnnotatedScripts, annotatedContainer, parseAnnotations } from "../scripts/annotations.ts";
import type { Facts } from "../scripts/rules.ts";
import type { ContainerScript, ProbeScript, SandboxScript } from "../scripts/scripts.ts";
import type { SimulatedCore } from "./core.ts";
import { invalidArgument } from "./failure.ts";
import type { ContainerRecord, SandboxRecord } from "./state.ts";

type Deps = Pick<SimulatedCore, "rules">;

export function sandboxScript({ rules }: Deps, sandbox: SandboxRecord): SandboxScript {
  return rules.scriptFor("sandbox", sandboxFacts(sandbox), sandbox.scripts?.sandbox);
}

export function containerScript(
  { rules }: Deps,
  { sandbox, metadata, image }: Pick<ContainerRecord, "sandbox" | "metadata" | "image">,
): ContainerScript {
  const facts = containerFacts({ sandbox, metadata, image });
  return rules.scriptFor("container", facts, annotatedContainer(sandbox.scripts, metadata.name));
}

export function probeScript({ rules }: Deps, container: ContainerRecord, probe: string): ProbeScript {
  return rules.scriptFor("probe", { ...containerFacts(container), probe });
}

function containerFacts({
  sandbox,
  metadata,
  image,
}: Pick<ContainerRecord, "sandbox" | "metadata" | "image">): Facts {
  return {
    ...sandboxFacts(sandbox),
    container: metadata.name,
    attempt: metadata.attempt,
    image: image.userSpecifiedImage || image.image,
  };
}

function sandboxFacts({ metadata, handler }: Pick<SandboxRecord, "metadata" | "handler">): Facts {
  const { namespace, name, uid } = metadata;
  return { namespace, pod: name, uid, handler };
}

/** Parses the scripts in a pod's annotations. Invalid annotations fail the call. */
export function annotatedScripts({ annotations }: PodSandboxConfig): AnnotatedScripts | undefined {
  try {
    return parseAnnotations(annotations);
  } catch (error) {
    throw invalidArgument(messageOf(error));
  }
}
