import type { Container } from "../../api/objects.ts";
import { createRecentMap } from "../../client/recent-map.ts";

/** How long containers took to start on this node, since its kubelet did. */
export interface StartTimes {
  note(namespace: string, container: Container, tookMs: number): void;
  /** The newest last. */
  of(namespace: string, container: Container): readonly number[];
}

/** A node has no more kinds of containers at a time; older ones give way. */
const mostKinds = 500;
const mostOfEach = 50;

/** Containers of one image and one name start alike, whichever pod they are in; namespaces learn nothing of each other. */
export function createStartTimes(): StartTimes {
  const kinds = createRecentMap<readonly number[]>(mostKinds);
  const keyOf = (namespace: string, { name, image = "" }: Container) => `${namespace} ${name} ${image}`;
  return {
    note(namespace, container, tookMs) {
      const key = keyOf(namespace, container);
      kinds.set(key, [...(kinds.get(key) ?? []), tookMs].slice(-mostOfEach));
    },
    of: (namespace, container) => kinds.get(keyOf(namespace, container)) ?? [],
  };
}
