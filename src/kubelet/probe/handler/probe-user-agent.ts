import { versionInfo } from "../../../api/version.ts";

/** Servers tell probes from users by it: the name, and the release of Kubernetes whose behaviour this is. */
export const probeUserAgent = `kube-probe/${versionInfo.major}.${versionInfo.minor}`;
