import type { RuntimeHandler, StatusRequest, StatusResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

/** How this daemon came to be as it is, for the verbose status. */
export interface RuntimeInfo {
  /** Why this driver and this network were chosen, in sentences. */
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
      // The handler without a name is the one that pods without a RuntimeClass get.
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

/** Each value is JSON, as crictl expects to print it. */
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
