import type { Container, Pod } from "../../api/meta/objects.ts";
import { startedPath, type TourImage } from "./make-image.ts";

export interface TourPod {
  readonly name: string;
  readonly container?: Partial<Container>;
  /** Behaviour on a simulated node, by annotation name. */
  readonly simulated?: Readonly<Record<string, string>>;
}

/** Pod with one container that runs the tour's image. */
export function tourPod(image: TourImage, { name, container, simulated = {} }: TourPod): Pod {
  const annotations = image.simulated ? simulatedAnnotations(simulated) : {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", annotations },
    spec: tourPodSpec(image, container),
  };
}

export function tourPodSpec(image: TourImage, container: Partial<Container> = {}): NonNullable<Pod["spec"]> {
  return {
    terminationGracePeriodSeconds: 2,
    // Cluster DNS is not needed, and this avoids events about it.
    dnsPolicy: "Default",
    containers: [{ name: "app", image: image.reference, ...container }],
  };
}

function simulatedAnnotations(scripts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(scripts).map(([key, text]) => [`simulated.kindling.dev/${key}`, text]),
  );
}

/** Probe that checks whether the program has started. */
export function startedProbe(image: TourImage): { command: string[] } {
  return { command: [image.node, startedPath] };
}
