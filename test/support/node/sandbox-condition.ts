import { conditionOf } from "../../../src/api/meta/object-facts.ts";
import type { Pod } from "../../../src/api/meta/objects.ts";

/** KEP-3085's. */
export const condition = "PodReadyToStartContainers";

export const isSandboxReady = (pod: Pod) => conditionOf(pod, condition)?.status === "True";

/** The API's times have whole ones. */
export const toSeconds = (time: string | undefined) => Date.parse(time ?? "") / 1_000;

/** Of a pod that needs nothing. */
export const containers = [{ name: "c", image: "web:1" }];
