import { controllerOf, isReady } from "../../api/meta/object-facts.ts";
import type { Container, ContainerStatus, Pod, PodCondition, Volume } from "../../api/meta/objects.ts";
import { hasEnded, mirrorAnnotation } from "../../api/pod/pod-state.ts";

export interface TrimOptions {
  readonly chosenLabels: readonly string[];
  readonly chosenAnnotations: readonly string[];
  /** Returns one shared copy of equal strings. */
  share(text: string): string;
}

const ownLabels = ["controller-revision-hash", "pod-template-hash", "apps.kubernetes.io/pod-index"];

/**
 * Drops everything of a pod that the monitor does not read. Starting pods keep what `explain` reads; ready and completed
 * pods, which are most of a cluster, keep only their class and times.
 */
export function trimPod(pod: Pod, options: TrimOptions): Pod {
  const { metadata, spec, status } = pod;
  const { share } = options;
  const shared = (text: string | undefined) => (text === undefined ? undefined : share(text));
  const conditions = status?.conditions ?? [];
  const isOver = hasEnded(pod) || isReady(pod);
  const owner = controllerOf(pod);
  const trimContainers = isOver ? nameOnly : trimContainer;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: metadata.name,
      namespace: shared(metadata.namespace),
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      creationTimestamp: metadata.creationTimestamp,
      deletionTimestamp: metadata.deletionTimestamp,
      deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds,
      finalizers: metadata.finalizers,
      ownerReferences: owner && [
        { ...owner, kind: share(owner.kind), name: share(owner.name), uid: share(owner.uid) },
      ],
      labels: pick(metadata.labels, [...ownLabels, ...options.chosenLabels], share),
      annotations: pick(metadata.annotations, [mirrorAnnotation, ...options.chosenAnnotations], share),
    },
    spec: spec && {
      nodeName: shared(spec.nodeName),
      runtimeClassName: shared(spec.runtimeClassName),
      schedulerName: shared(spec.schedulerName),
      restartPolicy: spec.restartPolicy,
      activeDeadlineSeconds: spec.activeDeadlineSeconds,
      schedulingGates: spec.schedulingGates,
      readinessGates: spec.readinessGates,
      containers: spec.containers.map((each) => trimContainers(each, share)),
      initContainers: spec.initContainers?.map((each) => trimContainers(each, share)),
      volumes: spec.volumes?.map((each) => trimVolume(each, share)),
    },
    status: status && {
      phase: status.phase,
      reason: status.reason,
      message: status.message,
      podIP: status.podIP,
      startTime: status.startTime,
      conditions: conditions.map((each) => trimCondition(each, share)),
      containerStatuses: status.containerStatuses?.map((each) => trimStatus(each, share)),
      initContainerStatuses: status.initContainerStatuses?.map((each) => trimStatus(each, share)),
    },
  };
}

function pick(
  from: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
  share: (text: string) => string,
): Record<string, string> | undefined {
  const found = keys.flatMap((key) => {
    const value = from?.[key];
    return value === undefined ? [] : [[key, share(value)] as const];
  });
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

function nameOnly({ name, restartPolicy }: Container, share: TrimOptions["share"]): Container {
  return restartPolicy ? { name: share(name), restartPolicy } : { name: share(name) };
}

function trimContainer(container: Container, share: TrimOptions["share"]): Container {
  const { name, image, imagePullPolicy, restartPolicy, restartPolicyRules, env } = container;
  const { startupProbe, readinessProbe, resources } = container;
  const memory = resources?.limits?.memory;
  return {
    name: share(name),
    image: image && share(image),
    imagePullPolicy,
    restartPolicy,
    restartPolicyRules,
    startupProbe,
    readinessProbe,
    ...(memory !== undefined && { resources: { limits: { memory } } }),
    // References are kept, because their objects can be missing. Literal values are dropped, because they can be secret.
    env: env?.filter(({ valueFrom }) => valueFrom),
  };
}

function trimVolume({ name, persistentVolumeClaim, ephemeral }: Volume, share: TrimOptions["share"]): Volume {
  if (persistentVolumeClaim) {
    return { name: share(name), persistentVolumeClaim: { claimName: persistentVolumeClaim.claimName } };
  }
  return ephemeral ? { name: share(name), ephemeral: {} } : { name: share(name) };
}

function trimCondition(condition: PodCondition, share: TrimOptions["share"]): PodCondition {
  const { type, status, lastTransitionTime, reason, message } = condition;
  return {
    type: share(type),
    status: share(status),
    lastTransitionTime: lastTransitionTime ? share(lastTransitionTime) : lastTransitionTime,
    ...(reason !== undefined && { reason: share(reason) }),
    ...(message !== undefined && { message }),
  };
}

function trimStatus(status: ContainerStatus, share: TrimOptions["share"]): ContainerStatus {
  const { name, ready, started, restartCount, state, lastState, containerID } = status;
  return {
    name: share(name),
    ready,
    started,
    restartCount,
    state,
    ...(lastState?.terminated && { lastState: { terminated: lastState.terminated } }),
    // Only its presence is read.
    ...(containerID && { containerID: "-" }),
    image: "",
    imageID: "",
  };
}

/** Number of strings in a generation. */
const generationSize = 100_000;

/**
 * Creates a function that returns one shared copy of equal strings, so that values common to many objects are in memory
 * once. Strings that are no longer used are dropped with their generation.
 */
export function createStringPool(): (text: string) => string {
  let young = new Map<string, string>();
  let old = new Map<string, string>();
  return (text) => {
    const known = young.get(text);
    if (known !== undefined) return known;
    const shared = old.get(text) ?? text;
    if (young.size >= generationSize) {
      old = young;
      young = new Map();
    }
    young.set(shared, shared);
    return shared;
  };
}
