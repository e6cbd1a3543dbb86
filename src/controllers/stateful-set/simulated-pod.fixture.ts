import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { brokenImages } from "./controller-steps.fixture.ts";

export const setKey = "default/web";

export const imageOf = (pod: Pod | undefined) => pod?.spec?.containers[0]?.image;
export const isWell = (pod: Pod | undefined) =>
  pod?.metadata.deletionTimestamp === undefined &&
  pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");

/** Whether the node has reported the failure of a broken image. */
export function hasReportedFailure(pod: Pod): boolean {
  return brokenImages.includes(imageOf(pod) ?? "") && pod.status?.containerStatuses !== undefined;
}

export function setImage(spec: StatefulSet["spec"], image: string): void {
  const [container] = spec?.template.spec?.containers ?? [];
  if (container) container.image = image;
}

/** Status that the node reports for a pod with this image, or for one that fails or starts with a good image. */
export function statusOf(how: string): Pod["status"] {
  const waiting = {
    "broken:permanent": "InvalidImageName",
    "broken:transient": "ErrImagePull",
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
