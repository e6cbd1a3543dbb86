import { isReady } from "../../api/conditions.ts";
import { controllerOf } from "../../api/controller-reference.ts";
import { mirrorAnnotation } from "../../api/mirror-pod.ts";
import type { Container, ContainerStatus, Pod, PodCondition, Volume } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";

export interface TrimOptions {
  readonly chosenLabels: readonly string[];
  readonly chosenAnnotations: readonly string[];
  /** Gives one copy of equal strings, so that what many pods share is there once. */
  share(text: string): string;
}

const ownLabels = ["controller-revision-hash", "pod-template-hash", "apps.kubernetes.io/pod-index"];

/**
 * A pod with only what the monitor reads. A cluster has many pods and few of them start at any time: one that starts
 * keeps what `explain` reads, one that is ready or done keeps its class and its times.
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
  const { startupProbe, readinessProbe } = container;
  return {
    name: share(name),
    image: image && share(image),
    imagePullPolicy,
    restartPolicy,
    restartPolicyRules,
    startupProbe,
    readinessProbe,
    // What it takes from elsewhere can be missing; values that it brings itself can be secret.
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
    // Whether there is one is all that is asked.
    ...(containerID && { containerID: "-" }),
    image: "",
    imageID: "",
  };
}
