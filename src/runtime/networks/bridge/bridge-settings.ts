import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { writeFileAtomic } from "../../../lib/fs/write-file-atomic.ts";
import { NetworkError } from "../network.ts";
import { runTool } from "../run-process.ts";
import { ipBatch, linkExists, removeLink } from "./bridge-device.ts";
import { formatSubnet, parseAddress, parseSubnet, type Subnet, subnetsOverlap } from "./ipv4.ts";

/** Bridge and subnet of this data directory, chosen once. */
export interface BridgeSettings {
  readonly bridge: string;
  readonly subnet: Subnet;
}

export interface WantedBridge {
  readonly bridge?: string;
  readonly subnet?: string;
}

export async function readOrChooseSettings(file: string, wanted: WantedBridge): Promise<BridgeSettings> {
  const kept = await readSettings(file);
  if (kept && (wanted.bridge ?? kept.bridge) === kept.bridge && !differs(wanted.subnet, kept.subnet))
    return kept;
  const claimed = wanted.bridge ? { bridge: wanted.bridge, number: 0 } : await claimBridgeName();
  try {
    const settings = { bridge: claimed.bridge, subnet: await chooseRange(wanted, claimed) };
    await mkdir(dirname(file), { recursive: true });
    const text = JSON.stringify({ ...settings, subnet: formatSubnet(settings.subnet) });
    await writeFileAtomic(file, text, { temporary: `${file}.new` });
    return settings;
  } catch (error) {
    // The bridge would be unknown, and the next attempt would create another.
    if (!wanted.bridge) await removeLink(claimed.bridge);
    throw error;
  }
}

async function chooseRange(
  wanted: WantedBridge,
  { bridge, number }: { bridge: string; number: number },
): Promise<Subnet> {
  const routes = await runTool("ip", ["-4", "route", "show", "table", "all"]);
  const subnet = wanted.subnet
    ? parseSubnet(wanted.subnet)
    : chooseSubnet(parseRoutes(routes, { exceptDevice: bridge }), number);
  if (!subnet || subnet.prefixLength > 29)
    throw new NetworkError("invalid", `no range of addresses for pods: ${wanted.subnet ?? "all are in use"}`);
  return subnet;
}

export function forgetSettings(file: string): Promise<void> {
  return rm(file, { force: true });
}

/** Reads the settings; undefined if they are missing or unreadable. */
export async function readSettings(file: string): Promise<BridgeSettings | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    if (typeof value !== "object" || value === null || !("bridge" in value && "subnet" in value))
      return undefined;
    return { bridge: String(value.bridge), subnet: parseSubnet(String(value.subnet)) };
  } catch {
    return undefined;
  }
}

/** Claims a bridge name. The kernel creates each name once, so every data directory has its own bridge. */
async function claimBridgeName(): Promise<{ bridge: string; number: number }> {
  for (let number = 0; number < 1_000; number++) {
    const bridge = `kindling${number}`;
    if (await linkExists(bridge)) continue;
    try {
      await ipBatch([`link add ${bridge} type bridge`]);
      return { bridge, number };
    } catch (error) {
      if (!(await linkExists(bridge))) throw error;
    }
  }
  throw new NetworkError("invalid", "all bridge names from kindling0 to kindling999 are in use");
}

function differs(wanted: string | undefined, kept: Subnet): boolean {
  return wanted !== undefined && formatSubnet(parseSubnet(wanted)) !== formatSubnet(kept);
}

/** Distance between the first choices of consecutive bridges, so that they differ even when some are in use. */
const rangesApart = 113;

/**
 * Chooses the first private range without a route. Bridges of different numbers start at different ranges, so that two
 * daemons that start at the same time do not choose the same.
 */
export function chooseSubnet(routes: readonly Subnet[], bridgeNumber = 0): Subnet | undefined {
  const tens = Array.from({ length: 168 }, (_, i) => `10.${88 + i}.0.0/16`);
  const others = Array.from({ length: 16 }, (_, i) => `172.${16 + i}.0.0/16`);
  const all = [...tens, ...others];
  const first = (bridgeNumber * rangesApart) % all.length;
  return [...all.slice(first), ...all.slice(0, first)]
    .map(parseSubnet)
    .find((candidate) => !routes.some((route) => subnetsOverlap(route, candidate)));
}

/**
 * Destinations in `ip -4 route show table all`, except the default route and routes through `exceptDevice`. Lines start
 * with an address or subnet, some with a type before it.
 */
export function parseRoutes(text: string, { exceptDevice }: { exceptDevice: string }): readonly Subnet[] {
  return text.split("\n").flatMap((line) => {
    const words = line.trim().split(/\s+/);
    if (words[words.indexOf("dev") + 1] === exceptDevice && words.includes("dev")) return [];
    const destination = words
      .slice(0, 2)
      .find((word) => parseAddress(word.split("/")[0] ?? "") !== undefined);
    return destination && !destination.endsWith("/0") ? [parseSubnet(destination)] : [];
  });
}
