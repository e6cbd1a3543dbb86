import type { PodPart, WhyView } from "./why-screen.ts";

/** One line of JSON: a pod's explanation, or that of a StatefulSet with the pod that holds it up as `pod`. */
export function formatWhyJson({ pod, set }: WhyView): string {
  const said = set
    ? {
        kind: "StatefulSet",
        namespace: set.namespace,
        name: set.name,
        ...set.explanation,
        ...(pod && { pod: podJson(pod) }),
      }
    : pod && podJson(pod);
  return `${JSON.stringify(said)}\n`;
}

function podJson({ facts: { pod, pulls, advice }, explanation, spans }: PodPart) {
  return {
    kind: "Pod",
    namespace: pod.metadata.namespace,
    name: pod.metadata.name,
    node: pod.spec?.nodeName,
    ...explanation,
    ...(pulls.length > 0 && { pulls }),
    ...(advice.length > 0 && { advice }),
    spans: spans.map(({ name, startMs, endMs }) => ({
      name,
      start: new Date(startMs).toISOString(),
      ...(endMs !== undefined && { end: new Date(endMs).toISOString() }),
    })),
  };
}
