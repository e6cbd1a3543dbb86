import type { Pod, StatefulSet } from "../../api/objects.ts";
import { brokenImages } from "./controller-steps.fixture.ts";

export const setKey = "default/web";

export const imageOf = (pod: Pod | undefined) => pod?.spec?.containers[0]?.image;
export const isWell = (pod: Pod | undefined) =>
  pod?.metadata.deletionTimestamp === undefined &&
  pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");

/** Its node has said what is wrong with it. */
export function isShown(pod: Pod): boolean {
  return brokenImages.includes(imageOf(pod) ?? "") && pod.status?.containerStatuses !== undefined;
}

export function setImage(spec: StatefulSet["spec"], image: string): void {
  const [container] = spec?.template.spec?.containers ?? [];
  if (container) container.image = image;
}

/** What its node says of a pod that has this image, or that fails or starts with a good one. */
export function statusOf(how: string): Pod["status"] {
  const waiting = {
    "broken:permanent": "InvalidImageName",
    "broken:healing": "ErrImagePull",
    fail: "CrashLoopBackOff",
  }[how];
  const conditions = [
    { type: "PodScheduled", status: "True" },
    { type: "Ready", status: waiting ? "False" : "True", lastTransitionTime: "2025-01-01T00:00:00Z" },
  ];
  const state = waiting ? { waiting: { reason: waiting } } : { running: {} };
  const container = { name: "c", image: "", imageID: "", ready: !waiting, restartCount: 0, state };
  return {
    phase: waiting === "InvalidImageName" || waiting === "ErrImagePull" ? "Pending" : "Running",
    conditions,
    containerStatuses: [container],
  };
}
