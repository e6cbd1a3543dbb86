import { controllerOf } from "../../api/controller-reference.ts";
import type {
  ControllerRevision,
  Deployment,
  KubeObject,
  PodDisruptionBudget,
  PodSpec,
  ReplicaSet,
  Scale,
  StatefulSet,
} from "../../api/objects.ts";
import { formatSelector } from "./format-selector.ts";
import {
  ageColumn,
  column,
  integerColumn,
  nameColumn,
  type TableLayout,
  wideColumn,
} from "./table-layout.ts";

type Replicated = KubeObject & {
  spec?: { replicas?: number; template?: { spec?: PodSpec } };
  status?: { replicas?: number; readyReplicas?: number };
};

const desiredReplicas = ({ spec }: Replicated) => spec?.replicas ?? 0;
const currentReplicas = ({ status }: Replicated) => status?.replicas ?? 0;
const readyReplicas = ({ status }: Replicated) => status?.readyReplicas ?? 0;
const containersOf = ({ spec }: Replicated) => spec?.template?.spec?.containers ?? [];

const readyColumn = column(
  "Ready",
  "Replicas that are ready, of those wanted",
  (object: Replicated) => `${readyReplicas(object)}/${desiredReplicas(object)}`,
);
const containersColumn = wideColumn("Containers", "Containers of the pod template", (object: Replicated) =>
  containersOf(object)
    .map(({ name }) => name)
    .join(","),
);
const imagesColumn = wideColumn("Images", "Images of the pod template", (object: Replicated) =>
  containersOf(object)
    .map(({ image = "" }) => image)
    .join(","),
);

export const deploymentTable: TableLayout<Deployment> = {
  columns: [
    nameColumn,
    readyColumn,
    column("Up-to-date", "Replicas of the newest template", ({ status }) => status?.updatedReplicas ?? 0),
    column(
      "Available",
      "Replicas that have been ready long enough",
      ({ status }) => status?.availableReplicas ?? 0,
    ),
    ageColumn,
    containersColumn,
    imagesColumn,
    wideColumn("Selector", "Which pods belong to it", ({ spec }) => formatSelector(spec?.selector)),
  ],
};

export const replicaSetTable: TableLayout<ReplicaSet> = {
  columns: [
    nameColumn,
    integerColumn("Desired", "Replicas that are wanted", desiredReplicas),
    integerColumn("Current", "Replicas that exist", currentReplicas),
    integerColumn("Ready", "Replicas that are ready", readyReplicas),
    ageColumn,
    containersColumn,
    imagesColumn,
    wideColumn(
      "Selector",
      "Which pods belong to it",
      ({ spec }) => formatSelector(spec?.selector) || "<none>",
    ),
  ],
};

export const statefulSetTable: TableLayout<StatefulSet> = {
  columns: [nameColumn, readyColumn, ageColumn, containersColumn, imagesColumn],
};

/** What the scale subresource of any of them answers: `kubectl get deployment NAME --subresource=scale`. */
export const scaleTable: TableLayout<Scale> = {
  columns: [
    column("Name", "Name of the scaled object", ({ metadata }) => metadata.name ?? ""),
    integerColumn("Desired", "Replicas that are wanted", desiredReplicas),
    integerColumn("Available", "Replicas that exist", currentReplicas),
    ageColumn,
  ],
};

export const controllerRevisionTable: TableLayout<ControllerRevision> = {
  columns: [
    nameColumn,
    column("Controller", "What the revision is of", controllerName),
    column("Revision", "Number of the revision", ({ revision }) => revision ?? 0),
    ageColumn,
  ],
};

export const podDisruptionBudgetTable: TableLayout<PodDisruptionBudget> = {
  columns: [
    nameColumn,
    column("Min Available", "Pods that must stay available", ({ spec }) => `${spec?.minAvailable ?? "N/A"}`),
    column(
      "Max Unavailable",
      "Pods that may be unavailable",
      ({ spec }) => `${spec?.maxUnavailable ?? "N/A"}`,
    ),
    integerColumn(
      "Allowed Disruptions",
      "Pods that may be evicted now",
      ({ status }) => status?.disruptionsAllowed ?? 0,
    ),
    ageColumn,
  ],
};

/** `statefulset.apps/web` */
function controllerName(object: KubeObject): string {
  const owner = controllerOf(object);
  if (!owner) return "<none>";
  const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
  return `${`${owner.kind}${group}`.toLowerCase()}/${owner.name}`;
}
