import type { Container, Pod } from "../api/objects.ts";
import { startedPath, type TourImage } from "./tour-image.ts";

export interface TourPod {
  readonly name: string;
  readonly container?: Partial<Container>;
  /** What a simulated node makes of it, by the names of its annotations. */
  readonly simulated?: Readonly<Record<string, string>>;
}

/** A pod of one container that runs the tour's image. */
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
    // No cluster DNS is needed, and no word about it in the events.
    dnsPolicy: "Default",
    containers: [{ name: "app", image: image.reference, ...container }],
  };
}

function simulatedAnnotations(scripts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(scripts).map(([key, text]) => [`simulated.kindling.dev/${key}`, text]),
  );
}

/** Asks the program itself whether it has started. */
export function startedProbe(image: TourImage): { command: string[] } {
  return { command: [image.node, startedPath] };
}
