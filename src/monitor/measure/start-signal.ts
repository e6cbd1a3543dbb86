import { controllerOf } from "../../api/meta/object-facts.ts";
import type { Pod } from "../../api/meta/objects.ts";
import { tokenVolumePrefix } from "../../api/pod/pod-state.ts";

/** Stages of a pod's start, in order. A pod without init containers has no stage `init`. */
export const stages = ["scheduling", "sandbox", "init", "containers", "readiness"] as const;
export type StageName = (typeof stages)[number];

/** Class of a pod, by which its durations are grouped. */
export interface PodClass {
  readonly namespace: string;
  /** Kind of the controller; `Pod` if there is none. */
  readonly ownerKind: string;
  readonly ownerName: string;
  /** `controller-revision-hash` or `pod-template-hash`; empty if there is neither. */
  readonly revision: string;
  /** Empty if the pod has none. */
  readonly runtimeClass: string;
  /** Storage classes of the claims, sorted and without duplicates. */
  readonly storageClasses: readonly string[];
  /** Number of volumes, without the one of the service account that nearly every pod has. */
  readonly volumes: number;
  /** Labels and annotations that the operator chose; `""` for missing ones. */
  readonly chosen: Readonly<Record<string, string>>;
}

export interface PodRef {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string | undefined;
}

/** Start of a pod. Times are in milliseconds since the epoch; unknown values are absent. */
export interface PodStart {
  readonly pod: PodRef;
  readonly class: PodClass;
  readonly createdMs: number;
  /** Creation of the pod, or removal of its last scheduling gate. Undefined while it has gates. */
  readonly beganMs: number | undefined;
  readonly ends: Readonly<Partial<Record<StageName, number>>>;
  /** Image pulls, from events. */
  readonly pulls: readonly {
    readonly image: string;
    readonly seconds: number;
    readonly bytes: number | undefined;
    /** End of the pull, from the time of the event. */
    readonly endedMs?: number;
  }[];
  readonly restarts: number;
  /** User error that delayed the start, such as a missing ConfigMap or an invalid image name. */
  readonly userError: string | undefined;
}

interface Length {
  readonly start: PodStart;
  readonly seconds: number;
  /** End by the times of the pod. */
  readonly endedMs: number;
}

/** Signal of the tracker. Each is emitted at most once, also across restarts of the monitor. */
export type StartSignal =
  /** A stage ended and its duration is known. */
  | (Length & { readonly kind: "stage"; readonly stage: StageName })
  /** A sandbox became ready: the first one, measured from scheduling, or a later one, measured from the loss of the previous. */
  | (Length & { readonly kind: "sandbox"; readonly first: boolean })
  | {
      readonly kind: "pull";
      readonly start: PodStart;
      readonly image: string;
      readonly seconds: number;
      readonly bytes: number | undefined;
    }
  /** The pod is ready for the first time. */
  | (Length & { readonly kind: "ready" })
  /** A container of a pod that was ready is in CrashLoopBackOff. Emitted once. */
  | { readonly kind: "crash-loop"; readonly start: PodStart; readonly container: string }
  | { readonly kind: "restart"; readonly start: PodStart; readonly container: string }
  /** The pod stays in a stage longer than allowed. Emitted once per stage. */
  | { readonly kind: "stuck"; readonly start: PodStart; readonly stage: StageName }
  | { readonly kind: "user-error"; readonly start: PodStart; readonly reason: string }
  /** The sandbox of a deleted pod was removed, measured from the deletion request. */
  | (Length & { readonly kind: "terminated" })
  /** The pod ended before it was ready. */
  | { readonly kind: "abandoned"; readonly start: PodStart; readonly stage: StageName }
  /** A duration that could not be measured because an event was missed. */
  | { readonly kind: "unknown"; readonly start: PodStart; readonly what: string };

interface StageTime {
  readonly stage: StageName;
  readonly fromMs: number;
  /** Can precede `fromMs` if clocks differ. */
  readonly untilMs: number;
}

/** Start and end of each stage; stages with an unknown start or end are omitted. */
export function stageTimes({ beganMs, ends }: Pick<PodStart, "beganMs" | "ends">): readonly StageTime[] {
  let fromMs = beganMs;
  return stages.flatMap((stage) => {
    const untilMs = ends[stage];
    // Without init containers the next stage begins at the end of the sandbox stage.
    if (untilMs === undefined && stage === "init") return [];
    const begun = fromMs;
    fromMs = untilMs;
    return begun === undefined || untilMs === undefined ? [] : [{ stage, fromMs: begun, untilMs }];
  });
}

export interface ClassSources {
  /** Keys of labels and annotations that the operator chose. */
  readonly chosenLabels: readonly string[];
  readonly chosenAnnotations: readonly string[];
  /** Returns the storage class of a claim. Undefined if it is unknown or the claim has none. */
  storageClassOf(namespace: string, claim: string): string | undefined;
}

/** Class of a pod. Computed when a signal is emitted, because claims can be created after the pod. */
export function classOf(pod: Pod, sources: ClassSources): PodClass {
  const { metadata, spec } = pod;
  const { namespace = "", name = "", labels = {}, annotations = {} } = metadata;
  const owner = controllerOf(pod);
  const volumes = spec?.volumes ?? [];
  const storageClasses = volumes.flatMap(({ name: volume, persistentVolumeClaim, ephemeral }) => {
    // The claim of an ephemeral volume is named after the pod and the volume.
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral ? `${name}-${volume}` : undefined);
    return (claim && sources.storageClassOf(namespace, claim)) || [];
  });
  return {
    namespace,
    ownerKind: owner?.kind ?? "Pod",
    ownerName: owner?.name ?? name,
    revision: labels["controller-revision-hash"] ?? labels["pod-template-hash"] ?? "",
    runtimeClass: spec?.runtimeClassName ?? "",
    storageClasses: [...new Set(storageClasses)].sort(),
    volumes: volumes.filter(({ name: volume }) => !volume.startsWith(tokenVolumePrefix)).length,
    chosen: Object.fromEntries([
      ...sources.chosenAnnotations.map((key) => [key, annotations[key] ?? ""]),
      ...sources.chosenLabels.map((key) => [key, labels[key] ?? ""]),
    ]),
  };
}
