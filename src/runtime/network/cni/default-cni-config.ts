import type { CniConfig } from "./cni-config.ts";

/** What our own configuration needs of the plugins that are installed. */
export const defaultPluginTypes = ["bridge", "host-local", "portmap"] as const;

/** For machines that have the plugins and no configuration: a bridge, addresses kept on disk, host ports. */
export function defaultCniConfig(options: {
  bridge: string;
  subnet: string;
  ipamDirectory: string;
  mtu: number;
}): CniConfig {
  const { bridge, subnet, ipamDirectory, mtu } = options;
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet }]],
    routes: [{ dst: "0.0.0.0/0" }],
    dataDir: ipamDirectory,
  };
  return {
    name: bridge,
    // The latest that the plugins of Debian 12 know.
    cniVersion: "1.0.0",
    disableCheck: false,
    plugins: [
      { type: "bridge", bridge, isGateway: true, ipMasq: true, hairpinMode: true, mtu, ipam },
      { type: "portmap", capabilities: { portMappings: true }, snat: true },
    ],
  };
}
