import type { Pod } from "../../api/objects.ts";
import { type QosClass, qosClassOf } from "../../api/qos-class.ts";

/** The class that the API server wrote down; a static pod has none yet. */
export function qosClass({ status, spec }: Pod): QosClass {
  switch (status?.qosClass) {
    case "Guaranteed":
    case "Burstable":
    case "BestEffort":
      return status.qosClass;
  }
  return qosClassOf(spec ?? { containers: [] });
}
