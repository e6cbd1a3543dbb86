import type { Deployment, StatefulSet } from "../../../src/api/meta/objects.ts";
import { makePodSpec, type PodSpecFields } from "./pod.ts";

interface WorkloadFields<Spec> {
  /** Defaults to 3. */
  readonly replicas?: number;
  /** Image of the container. Defaults to `web:1`. */
  readonly image?: string;
  readonly annotations?: Record<string, string>;
  /** Other fields of the workload's spec. */
  readonly spec?: Partial<Spec>;
  /** Fields of the pod template's spec. */
  readonly pod?: PodSpecFields;
}

export type DeploymentFields = WorkloadFields<NonNullable<Deployment["spec"]>>;
export type StatefulSetFields = WorkloadFields<NonNullable<StatefulSet["spec"]>>;

/** Returns a Deployment whose pods have the label `app: NAME`. */
export function makeDeployment(name: string, fields: DeploymentFields = {}): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default", annotations: fields.annotations },
    spec: { ...commonSpec(name, fields), ...fields.spec },
  };
}

/** Returns a StatefulSet whose pods have the label `app: NAME`. */
export function makeStatefulSet(name: string, fields: StatefulSetFields = {}): StatefulSet {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace: "default", annotations: fields.annotations },
    spec: { serviceName: name, ...commonSpec(name, fields), ...fields.spec },
  };
}

function commonSpec(app: string, { replicas = 3, image = "web:1", pod }: WorkloadFields<unknown>) {
  const labels = { app };
  return {
    replicas,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: makePodSpec({ ...pod, container: { image, ...pod?.container } }),
    },
  };
}
