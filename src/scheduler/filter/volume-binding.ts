import { planForNode, sortClaims } from "../volume/plan-volumes.ts";
import { type Filter, final, type Prepared, pass } from "./filter.ts";

export const volumeBinding: Filter = {
  name: "VolumeBinding",
  prepare(info, { objects }): Prepared {
    if (info.volumes.length === 0) return pass;
    const claims = sortClaims(info, objects);
    if (claims.kind === "reject") return claims;
    return {
      kind: "check",
      check(node) {
        const plan = planForNode(claims, node, objects);
        return plan.kind === "reject" ? final(...plan.reasons) : undefined;
      },
    };
  },
};
