/** The stretches of a pod's start, in their order. A pod without init containers has no `init`. */
export const stages = ["scheduling", "sandbox", "init", "containers", "readiness"] as const;
export type StageName = (typeof stages)[number];

/** What a pod belongs to: by these its times are told apart. */
export interface PodClass {
  readonly namespace: string;
  /** The kind of its controller; `Pod` where it has none. */
  readonly ownerKind: string;
  readonly ownerName: string;
  /** `controller-revision-hash` or `pod-template-hash`; empty where it has neither. */
  readonly revision: string;
  /** Empty where none is named. */
  readonly runtimeClass: string;
  /** Of its claims, each once, in order. */
  readonly storageClasses: readonly string[];
  readonly volumes: number;
  /** The labels and annotations that the operator chose, `""` for those it lacks. */
  readonly chosen: Readonly<Record<string, string>>;
}

export interface PodRef {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string | undefined;
}

/** One pod's start as far as it is known. Times are in milliseconds since the epoch; what cannot be known is absent. */
export interface PodStart {
  readonly pod: PodRef;
  readonly class: PodClass;
  readonly createdMs: number;
  readonly ends: Readonly<Partial<Record<StageName, number>>>;
  /** Each image pull that was seen, from its events. */
  readonly pulls: readonly {
    readonly image: string;
    readonly seconds: number;
    readonly bytes: number | undefined;
    /** When it was over, by its event's time. */
    readonly endedMs?: number;
  }[];
  readonly restarts: number;
  /** Why the start is the user's own fault (a missing config map, a wrong image name), where it is. */
  readonly userError: string | undefined;
}

/** What the tracker tells, each once, also over a restart of the monitor. */
export type StartSignal =
  /** A stage ended and its length is known. */
  | { readonly kind: "stage"; readonly start: PodStart; readonly stage: StageName; readonly seconds: number }
  /** A sandbox became ready: the first, counted from the pod's scheduling, or another, from the end of the one before. */
  | { readonly kind: "sandbox"; readonly start: PodStart; readonly first: boolean; readonly seconds: number }
  | {
      readonly kind: "pull";
      readonly start: PodStart;
      readonly image: string;
      readonly seconds: number;
      readonly bytes: number | undefined;
    }
  /** Ready for the first time: the start is over. */
  | { readonly kind: "ready"; readonly start: PodStart; readonly seconds: number }
  | { readonly kind: "restart"; readonly start: PodStart; readonly container: string }
  /** Longer in a stage than the operator allows; told once for each stage. */
  | { readonly kind: "stuck"; readonly start: PodStart; readonly stage: StageName }
  | { readonly kind: "user-error"; readonly start: PodStart; readonly reason: string }
  /** The sandbox of a deleted pod is gone, counted from its deletion. */
  | { readonly kind: "terminated"; readonly start: PodStart; readonly seconds: number }
  /** The pod went without having become ready. */
  | { readonly kind: "abandoned"; readonly start: PodStart; readonly stage: StageName }
  /** A length that would have been told, had no event been missed. */
  | { readonly kind: "unknown"; readonly start: PodStart; readonly what: string };
