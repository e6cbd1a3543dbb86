import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Features } from "../api/feature-gates.ts";
import { versionInfo } from "../api/version.ts";
import { createClient } from "../client/create-client.ts";
import { createHttpTransport } from "../client/http-transport.ts";
import { type CriClient, connectCri } from "../cri/cri-client.ts";
import { defaultKubeletConfiguration } from "../kubelet/configuration/kubelet-configuration.ts";
import { createKubelet, maxApiConnections } from "../kubelet/kubelet.ts";
import { plainDirectories } from "../kubelet/volume/plain-directories.ts";
import type { Logger } from "../lib/logger.ts";
import type { ControlPlane } from "./control-plane.ts";

/** What runs the containers of a node: a runtime of ours, no containers at all, or somebody else's socket. */
export type RuntimeChoice =
  | { readonly kind: "own"; readonly driver: "auto" | "oci" | "host" }
  | { readonly kind: "simulated" }
  | { readonly kind: "endpoint"; readonly endpoint: string };

export interface NodeOptions {
  readonly name: string;
  readonly dataDir: string;
  readonly runtime: RuntimeChoice;
  /** May still be starting: the runtime need not wait for it. */
  readonly controlPlane: Promise<ControlPlane>;
  readonly features: Features;
  readonly logger: Logger;
}

export interface RunningNode {
  readonly name: string;
  /** How containers run here, in words. */
  readonly runtime: string;
  /** Ends what runs the node; containers go on. */
  close(): Promise<void>;
}

interface ConnectedRuntime {
  readonly cri: CriClient;
  readonly description: string;
  close(): Promise<void>;
}

/** A runtime and a kubelet on it, registered with the control plane when this resolves. */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { name, dataDir, features, logger } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const stopping = new AbortController();
  const [runtime, controlPlane] = await Promise.all([connectRuntime(options), options.controlPlane]);
  const access = controlPlane.access({
    commonName: `system:node:${name}`,
    organizations: ["system:nodes"],
  });
  const transport = createHttpTransport({ access, maxConnections: maxApiConnections });
  const client = createClient({ transport, userAgent: "kindling-kubelet" });
  const kubelet = await createKubelet(
    {
      client,
      cri: runtime.cri,
      nodeName: name,
      dataDir: join(dataDir, "kubelet"),
      // Any free port: several clusters live side by side on one machine.
      config: { ...defaultKubeletConfiguration, port: 0 },
      clientCa: controlPlane.ca,
      ...(options.runtime.kind === "simulated" && { mounter: plainDirectories }),
      features,
      version: versionInfo.gitVersion,
      logger: logger.component("kubelet"),
    },
    stopping.signal,
  );
  const running = kubelet.run(stopping.signal);
  await Promise.race([kubelet.ready, running]);
  return {
    name,
    runtime: runtime.description,
    async close() {
      stopping.abort(new Error("the node stops"));
      await running;
      client.close();
      await runtime.close();
    },
  };
}

/** Each is loaded when it is chosen: nobody waits for one that is not used. */
async function connectRuntime({ runtime, dataDir, logger }: NodeOptions): Promise<ConnectedRuntime> {
  switch (runtime.kind) {
    case "own": {
      const { startRuntime } = await import("../runtime/start-runtime.ts");
      const listen = `unix://${socketPath(dataDir)}`;
      const { driver } = runtime;
      const component = logger.component("runtime");
      const started = await startRuntime({
        dataDir: join(dataDir, "runtime"),
        listen,
        driver,
        logger: component,
      });
      const cri = connectCri(listen);
      return {
        cri,
        description: `${started.driver.reason}; ${started.network.reason}`,
        async close() {
          cri.close();
          await started.close();
        },
      };
    }
    case "simulated": {
      const { startSimulatedRuntime } = await import("../simulated/start-simulated-runtime.ts");
      const simulated = await startSimulatedRuntime({ logger: logger.component("simulated") });
      return {
        cri: simulated.client,
        description: "simulated: no containers behind it",
        close: simulated.close,
      };
    }
    case "endpoint": {
      const cri = connectCri(runtime.endpoint);
      return { cri, description: runtime.endpoint, close: async () => cri.close() };
    }
  }
}

/** The kernel takes no path of a socket that is longer than 107 bytes. */
function socketPath(dataDir: string): string {
  const path = join(dataDir, "runtime.sock");
  if (Buffer.byteLength(path) <= 107) return path;
  return join(tmpdir(), `kindling-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}.sock`);
}
