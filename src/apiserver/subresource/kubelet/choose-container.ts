import type { Pod } from "../../../api/objects.ts";
import { badRequest } from "../../../api/status-error.ts";

/** The container a request is for: the one it names, or the only one. */
export function chooseContainer(pod: Pod, asked: string): string {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const names = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name);
  const podName = pod.metadata.name;
  if (asked) {
    if (!names.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${podName}`);
    return asked;
  }
  const [first, ...more] = containers;
  if (!first) throw badRequest(`a container name must be specified for pod ${podName}`);
  if (more.length > 0) {
    throw badRequest(
      `a container name must be specified for pod ${podName}, choose one of: [${names.join(" ")}]`,
    );
  }
  return first.name;
}
