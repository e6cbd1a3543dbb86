import type * as k8s from "@kubernetes/client-node";
import { defaultPersistentVolume } from "../../api/defaults/persistent-volume.ts";
import { formatTime } from "../../api/format-time.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import {
  validatePersistentVolume,
  validatePersistentVolumeUpdate,
} from "../../api/validation/persistent-volume.ts";
import { keepField } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export const persistentVolumeStrategy: Strategy<KubeObject & Wire<k8s.V1PersistentVolume>> = {
  applyDefaults: defaultPersistentVolume,

  prepareForCreate(next, { now }) {
    next.status = { phase: "Pending", lastPhaseTransitionTime: formatTime(now) };
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "status");
  },

  prepareForStatusUpdate(next, current, { now }) {
    keepField(next, current, "spec");
    next.status ??= {};
    const after = next.status;
    const before = current.status ?? {};
    const untold =
      !after.lastPhaseTransitionTime || after.lastPhaseTransitionTime === before.lastPhaseTransitionTime;
    if (after.phase !== before.phase && untold) after.lastPhaseTransitionTime = formatTime(now);
    else if (untold) keepField(after, before, "lastPhaseTransitionTime");
  },

  validate: validatePersistentVolume,
  validateUpdate: validatePersistentVolumeUpdate,

  warnings({ spec }) {
    if (spec?.persistentVolumeReclaimPolicy !== "Recycle") return [];
    const advice = "Instead, the recommended approach is to use dynamic provisioning.";
    return [`spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. ${advice}`];
  },
};
