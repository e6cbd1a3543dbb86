import type { SimulatedCore } from "./core.ts";
import type { ContainerRecord, SandboxRecord } from "./records.ts";
import { annotatedContainer } from "./script/annotations.ts";
import type { Facts } from "./script/rules.ts";
import type { ContainerScript, ProbeScript, SandboxScript } from "./script/scripts.ts";

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
