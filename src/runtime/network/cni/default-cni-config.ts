import type { CniConfig } from "./cni-config.ts";

/** For who asks for CNI without having a configuration: a bridge, addresses kept on disk, host ports. */
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
