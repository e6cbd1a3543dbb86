import type * as k8s from "@kubernetes/client-node";
import { defaultClaim } from "../../api/defaults/claim.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { validateClaim, validateClaimStatusUpdate, validateClaimUpdate } from "../../api/validation/claim.ts";
import type { ClaimSpec } from "../../api/validation/claim-spec.ts";
import { claimSpecWarnings } from "../../api/validation/pod-warnings.ts";
import { Report } from "../../api/validation/report.ts";
import { keepField } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export const claimStrategy: Strategy<KubeObject & Wire<k8s.V1PersistentVolumeClaim>> = {
  applyDefaults: defaultClaim,

  prepareForCreate(next) {
    next.status = { phase: "Pending" };
    if (next.spec) normalizeDataSources(next.spec, undefined);
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "status");
    if (next.spec) normalizeDataSources(next.spec, current.spec);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: validateClaim,
  validateUpdate: validateClaimUpdate,
  validateStatusUpdate: validateClaimStatusUpdate,

  warnings: ({ spec }) => (spec ? claimSpecWarnings(spec, new Report("spec")) : []),
};

/** `dataSourceRef` is the newer `dataSource`: each is filled in from the other. */
function normalizeDataSources(spec: ClaimSpec, current: ClaimSpec | undefined): void {
  const inUse = Boolean(current?.dataSource ?? current?.dataSourceRef);
  if (!inUse && !spec.dataSourceRef && spec.dataSource && !isKnownSource(spec.dataSource)) {
    delete spec.dataSource;
  }
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource };
  else if (!dataSource && dataSourceRef && !dataSourceRef.namespace) {
    const { namespace: _, ...source } = dataSourceRef;
    spec.dataSource = source;
  }
}

/** In the old field everything else has always been ignored. */
function isKnownSource({ kind, apiGroup = "" }: k8s.V1TypedLocalObjectReference): boolean {
  if (kind === "PersistentVolumeClaim") return apiGroup === "";
  return kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io";
}
