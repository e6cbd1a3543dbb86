import packageJson from "../../../package.json" with { type: "json" };
import type { RuntimeServiceService } from "../../cri/generated/cri.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import type { SimulatedCore } from "../model/core.ts";
import { invalidArgument } from "../model/failure.ts";

/** Version of the CRI handshake; kubelets do not start with another one. */
const kubeApiVersion = "0.1.0";

export function infoCalls(core: SimulatedCore) {
  return {
    async version() {
      return {
        version: kubeApiVersion,
        runtimeName: "kindling-simulated",
        runtimeVersion: packageJson.version,
        runtimeApiVersion: "v1",
      };
    },

    async status({ verbose }) {
      const { runtimeProblem, networkProblem } = core.rules.scriptFor("status", {});
      const { sandboxes, containers, images } = core.state;
      const counts = { sandboxes: sandboxes.size, containers: containers.size, images: images.size };
      return {
        status: {
          conditions: [
            condition("RuntimeReady", { problem: runtimeProblem, reason: "RuntimeNotReady" }),
            condition("NetworkReady", { problem: networkProblem, reason: "NetworkPluginNotReady" }),
          ],
        },
        runtimeHandlers: [...core.handlers].map((name) => ({
          name,
          features: { recursiveReadOnlyMounts: true, userNamespaces: false },
        })),
        features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false, mountOptions: false },
        info: { ...(verbose && { simulated: JSON.stringify(counts) }) },
      };
    },

    async runtimeConfig() {
      // Simulated pods have no cgroups, so the kubelet need not create any.
      return { linux: undefined };
    },

    /** Sets the pod CIDR of the node, from which further pods get their addresses. */
    async updateRuntimeConfig({ runtimeConfig }) {
      const [cidr] = (runtimeConfig?.networkConfig?.podCidr ?? "").split(",");
      try {
        // An IPv6 CIDR is ignored: simulated addresses are IPv4.
        if (cidr && !cidr.includes(":")) core.state.addresses.move(cidr);
      } catch (error) {
        throw invalidArgument(
          `runtime_config.network_config.pod_cidr: ${error instanceof Error ? error.message : error}`,
        );
      }
      return {};
    },

    getContainerEvents: (_request, { signal }) => core.events.subscribe(signal),
  } satisfies ServiceCalls<RuntimeServiceService>;
}

function condition(type: string, { problem, reason }: { problem: string | undefined; reason: string }) {
  const well = problem === undefined;
  return { type, status: well, reason: well ? "" : reason, message: problem ?? "" };
}
