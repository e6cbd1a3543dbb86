import packageJson from "../../../package.json" with { type: "json" };
import type { VersionRequest, VersionResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";

/** The version of this part of CRI's own handshake; kubelets refuse to start on another. */
const kubeApiVersion = "0.1.0";

export function version(): UnaryRpc<VersionRequest, VersionResponse> {
  return async () => ({
    version: kubeApiVersion,
    runtimeName: "kindling",
    runtimeVersion: packageJson.version,
    runtimeApiVersion: "v1",
  });
}
