import packageJson from "../../../../package.json" with { type: "json" };
import type { VersionRequest, VersionResponse } from "../../../cri/generated/cri.ts";
import {
  CgroupDriver,
  type ContainerEventResponse,
  type GetEventsRequest,
  type RuntimeConfigRequest,
  type RuntimeConfigResponse,
  type RuntimeHandler,
  type StatusRequest,
  type StatusResponse,
  type UpdateRuntimeConfigRequest,
  type UpdateRuntimeConfigResponse,
} from "../../../cri/generated/cri.ts";
import type { StreamRpc, UnaryRpc } from "../../../cri/serve-call.ts";
import type { RuntimeState } from "../../state/runtime-state.ts";

/** Choices and configuration of this daemon, for the verbose status. */
export interface RuntimeInfo {
  /** Sentences that explain the choice of driver and network. */
  readonly choices: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, unknown>>;
}

export function status(
  { driver, handlers, network }: Pick<RuntimeState, "driver" | "handlers" | "network">,
  info: RuntimeInfo,
): UnaryRpc<StatusRequest, StatusResponse> {
  return async ({ verbose }) => {
    const problem = await network.problem();
    const conditions = [
      { type: "RuntimeReady", status: true, reason: "", message: "" },
      {
        type: "NetworkReady",
        status: problem === undefined,
        reason: problem === undefined ? "" : "NetworkPluginNotReady",
        message: problem ?? "",
      },
    ];
    return {
      status: { conditions },
      // The handler without a name is that of pods without a RuntimeClass.
      runtimeHandlers: [
        "",
        driver.name,
        ...handlers.flatMap((one) => (one.kind === "works" ? [one.name] : [])),
      ].map(handlerMessage),
      features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false, mountOptions: false },
      info: verbose ? verboseInfo({ driver, network }, info) : {},
    };
  };
}

function handlerMessage(name: string): RuntimeHandler {
  return { name, features: { recursiveReadOnlyMounts: true, userNamespaces: false } };
}

/** Verbose information. Each value is JSON, as crictl expects. */
function verboseInfo(
  { driver, network }: Pick<RuntimeState, "driver" | "network">,
  { choices, config }: RuntimeInfo,
): Record<string, string> {
  const described = {
    driver: { name: driver.name, why: choices.driver, limitations: driver.limitations },
    network: { name: network.name, why: choices.network, limitations: network.limitations },
    config,
  };
  return Object.fromEntries(Object.entries(described).map(([key, value]) => [key, JSON.stringify(value)]));
}

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

/** Cgroup driver: cgroups are directories, not slices of systemd. */
export function runtimeConfig(): UnaryRpc<RuntimeConfigRequest, RuntimeConfigResponse> {
  return async () => ({ linux: { cgroupDriver: CgroupDriver.CGROUPFS } });
}

/** Accepts the node's pod CIDR, which kubelets announce. It is not used: the networks have their own subnets. */
export function updateRuntimeConfig(): UnaryRpc<UpdateRuntimeConfigRequest, UpdateRuntimeConfigResponse> {
  return async () => ({});
}

/** Streams events from now on, until the client disconnects or falls too far behind. */
export function getContainerEvents({
  events,
}: Pick<RuntimeState, "events">): StreamRpc<GetEventsRequest, ContainerEventResponse> {
  return (_request, { signal }) => events.subscribe(signal);
}
