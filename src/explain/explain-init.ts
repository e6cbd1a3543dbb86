import type { Container, ContainerStatus, Pod } from "../api/meta/objects.ts";
import { isSidecar } from "../api/pod/pod-resources.ts";
import { parseImageName } from "../lib/image/image-name.ts";
import { describeCause, type Failure } from "./causes.ts";
import { inCommands } from "./commands.ts";
import { containerFailure } from "./container-failure.ts";
import { explainContainer } from "./explain-container.ts";
import { type Explanation, joinExplanations, type PodFacts, sentence } from "./explanation.ts";

/**
 * Explains the first init container that has not completed. If it fails, the containers after it that fail too, or will fail,
 * are named with it: the kubelet reports those only after the init container has completed.
 */
export function explainInit(facts: PodFacts): Explanation | undefined {
  const { pod } = facts;
  for (const container of pod.spec?.initContainers ?? []) {
    const status = statusOf(pod, container);
    if (status?.state?.terminated?.exitCode === 0) continue;
    if (isSidecar(container) && status?.started) continue;
    if (status?.state?.running && !isSidecar(container)) {
      return {
        stage: "init",
        since: status.state.running.startedAt ?? undefined,
        because: `Init container ${container.name} is running; the other containers start when it completes.`,
        isTransient: true,
        resolvesWhen: "when it exits with code 0",
        fix: `its log: kubectl logs ${inCommands(pod)} -c ${container.name}`,
      };
    }
    const explanation = explainContainer(facts, container, status);
    if (!explanation || !isFailing(facts, status)) return explanation;
    return joinExplanations([explanation, ...explainLater(facts, container)]);
  }
  return undefined;
}

/** Containers that start after the given init container. */
export function containersAfter({ spec }: Pod, name: string): readonly Container[] {
  const inits = spec?.initContainers ?? [];
  const index = inits.findIndex((each) => each.name === name);
  return [...inits.slice(index + 1), ...(spec?.containers ?? [])];
}

/** First init container that fails. Undefined if none does. */
export function failingInit(pod: Pod, now: number): ContainerStatus | undefined {
  return pod.status?.initContainerStatuses?.find((status) => containerFailure(pod, status, { now }));
}

function explainLater(facts: PodFacts, failing: Container): readonly Explanation[] {
  return containersAfter(facts.pod, failing.name).flatMap((container) => {
    const status = statusOf(facts.pod, container);
    if (isFailing(facts, status)) return explainContainer(facts, container, status) ?? [];
    return laterFailures(facts, container).map((failure): Explanation => {
      const { fix } = describeCause(failure, { pod: facts.pod, container });
      const because = sentence(`Container ${container.name} will fail too: ${failure.message}`);
      return { stage: "creating", since: undefined, because, isTransient: false, fix };
    });
  });
}

/** Failures of a container that has not been started, as far as they are known before. */
function laterFailures({ missing = [] }: PodFacts, { name, image = "" }: Container): readonly Failure[] {
  const parsed = parseImageName(image);
  return [
    ...("problem" in parsed
      ? [{ reason: "InvalidImageName", message: `its image ${JSON.stringify(image)}: ${parsed.problem}` }]
      : []),
    ...missing
      .filter(({ containers }) => containers.includes(name))
      .map((object) => ({
        reason: "CreateContainerConfigError",
        message: `${object.kind} ${JSON.stringify(object.name)} not found`,
      })),
  ];
}

function statusOf({ status }: Pod, { name }: Container): ContainerStatus | undefined {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
    (each) => each.name === name,
  );
}

function isFailing({ pod, now }: PodFacts, status: ContainerStatus | undefined): boolean {
  return status !== undefined && containerFailure(pod, status, { now }) !== undefined;
}
