import { controllerOf } from "../../api/controller-reference.ts";
import type { Container, Pod } from "../../api/objects.ts";
import { inCommands, namespaceFlag } from "./explanation.ts";
import { fixMissingObject } from "./missing-object.ts";

interface Waiting {
  readonly reason: string;
  readonly message: string;
}

/** What would help a container that waits: a command where there is one, else the change. */
export function fixFor(pod: Pod, container: Container, waiting: Waiting): string | undefined {
  return fixByMessage(pod, container, waiting.message) ?? fixByReason(pod, container, waiting);
}

function fixByMessage(pod: Pod, container: Container, message: string): string | undefined {
  const missing = fixMissingObject(pod, message, (name) => keyOf(container, name));
  if (missing) return missing;
  const [, key, holder, place] = /couldn't find key (\S+) in (ConfigMap|Secret) (\S+)/.exec(message) ?? [];
  if (key)
    return `add the key ${key}: kubectl edit ${holder?.toLowerCase()} ${place?.split("/").at(-1)}${namespaceFlag(pod)}`;
  if (/runAsNonRoot/.test(message))
    return `set securityContext.runAsUser of container ${container.name} to a user that is not 0, in a new pod`;
  const program = /exec: "([^"]+)": (?:executable file not found|no such file|stat )/.exec(message)?.[1];
  if (program)
    return `the image has no ${program}: correct command of container ${container.name}, in a new pod`;
  if (/no command specified|what to run/.test(message))
    return `give container ${container.name} a command, in a new pod: ${container.image} has none`;
  return undefined;
}

/** In the words of our runtime, and of containerd and CRI-O, which are Go's. */
const unreachableRegistry =
  /cannot reach |ENOTFOUND|EAI_AGAIN|no such host|connection refused|i\/o timeout|network is unreachable|no route to host/;

/** The key that the container asks for in a config map or secret, where it asks for one by name. */
function keyOf(container: Container, holder: string): string {
  const asked = (container.env ?? []).map(
    ({ valueFrom }) => valueFrom?.configMapKeyRef ?? valueFrom?.secretKeyRef,
  );
  return asked.find((reference) => reference?.name === holder)?.key ?? "KEY";
}

function fixByReason(pod: Pod, container: Container, { reason, message }: Waiting): string {
  const setImage = setImageOf(pod, container);
  switch (reason) {
    case "CrashLoopBackOff":
      return `read what it said before it ended: kubectl logs ${inCommands(pod)} -c ${container.name} --previous`;
    case "ErrImagePull":
    case "ImagePullBackOff":
    case "RegistryUnavailable":
      if (unreachableRegistry.test(message))
        return `see that node ${pod.spec?.nodeName} reaches the registry: its network, its name service, a proxy`;
      return `see that ${container.image} exists and that spec.imagePullSecrets may read it; a corrected name: ${setImage}`;
    case "InvalidImageName":
      return `correct the name: ${setImage}`;
    case "ErrImageNeverPull":
      return `bring ${container.image} to node ${pod.spec?.nodeName}, or use imagePullPolicy: IfNotPresent in a new pod`;
    default:
      return `see what was tried: kubectl describe pod ${inCommands(pod)}`;
  }
}

/** Where the name is written: a pod that is changed by hand has its old image again as soon as it is made anew. */
function setImageOf(pod: Pod, container: Container): string {
  const owner = controllerOf(pod);
  const set = (what: string) => `kubectl set image ${what}${namespaceFlag(pod)} ${container.name}=IMAGE`;
  // RollingUpdate does not replace a pod that never became ready.
  if (owner?.kind === "StatefulSet")
    return `${set(`statefulset/${owner.name}`)} && kubectl delete pod ${inCommands(pod)}`;
  const hash = pod.metadata.labels?.["pod-template-hash"];
  if (owner?.kind === "ReplicaSet" && hash && owner.name.endsWith(`-${hash}`))
    return set(`deployment/${owner.name.slice(0, -hash.length - 1)}`);
  return set(`pod/${pod.metadata.name}`);
}
