import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../../src/lib/logger.ts";
import { chooseNetwork, type NetworkOptions } from "../../../src/runtime/networks/choose-network.ts";
import type { Network } from "../../../src/runtime/networks/network.ts";
import { findTraces, run } from "./netns.ts";
import { ownRange } from "./own-share.ts";

/** A network in a data directory, with its own bridge and addresses. */
export interface NetworkFixture {
  readonly network: Network;
  readonly options: NetworkOptions;
  readonly bridge: string;
  /** The bridge's address. */
  readonly gateway: string;
  /** Opens the network as a restarted daemon does. */
  reopen(): Promise<Network>;
  /** Whatever pods have left: on the machine and on disk. */
  traces(podIds: readonly string[]): Promise<string[]>;
  remove(): Promise<void>;
}

export async function openNetwork(
  wanted: "cni" | "bridge",
  overrides: Partial<NetworkOptions> = {},
): Promise<NetworkFixture> {
  const dataDir = await mkdtemp(join(tmpdir(), "kindling-network-"));
  const range = ownRange();
  const options: NetworkOptions = {
    dataDir,
    logger: silentLogger,
    wanted,
    bridge: `kdlt${randomBytes(4).toString("hex")}`,
    subnet: `${range}.0/24`,
    cniConfDir: join(dataDir, "net.d"),
    cniBinDirs: [join(dataDir, "bin"), "/usr/lib/cni", "/opt/cni/bin"],
    ...overrides,
  };
  const bridge = options.bridge ?? "";
  const open = async () => (await chooseNetwork(options)).network;
  const network = await open();
  return {
    network,
    options,
    bridge,
    gateway: `${options.subnet?.split(/\.\d+\//)[0]}.1`,
    reopen: open,
    async traces(podIds) {
      const folders = ["pods", "namespaces", "addresses", `addresses/${bridge}`];
      const files = await Promise.all(
        folders.map((folder) => readdir(join(dataDir, "network", wanted, folder)).catch(() => [])),
      );
      // host-local keeps a lock and the last address of each range, which belong to no pod.
      const ofPods = files
        .flat()
        .filter((name) => !/^(lock|last_reserved_ip\..*)$/.test(name) && name !== bridge);
      return [...(await findTraces({ dataDir, bridge, podIds })), ...ofPods];
    },
    async remove() {
      const last = await open();
      await Promise.all((await last.list()).map((podId) => last.detach(podId)));
      await last.problem();
      await last.close();
      if (existsSync(`/sys/class/net/${bridge}`)) throw new Error(`${bridge} is left`);
      const rules = (await run("iptables-save")).stdout.split("\n");
      const left = rules.filter((rule) => rule.includes(bridge) || rule.includes(`${range}.`));
      if (left.length > 0) throw new Error(`rules are left:\n${left.join("\n")}`);
      await rm(dataDir, { recursive: true });
    },
  };
}
