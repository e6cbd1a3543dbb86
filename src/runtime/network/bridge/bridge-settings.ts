import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { NetworkError } from "../network-error.ts";
import { runTool } from "../run-process.ts";
import { ipBatch, linkExists, removeLink } from "./bridge-device.ts";
import { chooseSubnet, parseRoutes } from "./choose-subnet.ts";
import { formatSubnet, parseSubnet, type Subnet } from "./ipv4.ts";

/** Which bridge and which addresses are this data directory's: chosen once, then kept. */
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
    await writeFile(`${file}.new`, JSON.stringify({ ...settings, subnet: formatSubnet(settings.subnet) }));
    await rename(`${file}.new`, file);
    return settings;
  } catch (error) {
    // Nobody would know of it, and the next try would claim another.
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

/** Undefined where none have been chosen, or cannot be read. */
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

/** The kernel makes each name once: so every data directory on the machine has a bridge of its own. */
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
  throw new NetworkError("invalid", "every name from kindling0 to kindling999 is taken");
}

function differs(wanted: string | undefined, kept: Subnet): boolean {
  return wanted !== undefined && formatSubnet(parseSubnet(wanted)) !== formatSubnet(kept);
}
