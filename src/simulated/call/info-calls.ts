import packageJson from "../../../package.json" with { type: "json" };
import type { RuntimeServiceService } from "../../cri/generated/cri.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import type { SimulatedCore } from "../core.ts";
import { invalidArgument } from "../failure.ts";

/** The version of this part of CRI's own handshake; kubelets refuse to start on another. */
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
      // Nothing here has a cgroup: a kubelet need not make any.
      return { linux: undefined };
    },

    /** Kubelets announce the node's pod CIDR with it: pods from then on have addresses from there. */
    async updateRuntimeConfig({ runtimeConfig }) {
      const [cidr] = (runtimeConfig?.networkConfig?.podCidr ?? "").split(",");
      try {
        // A CIDR of IPv6 alone changes nothing: the addresses here are IPv4.
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
