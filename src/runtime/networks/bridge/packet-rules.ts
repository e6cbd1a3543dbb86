import { messageOf } from "../../../lib/message-of.ts";
import { tryRunProgram } from "../../../lib/process/run-program.ts";
import { NetworkError, type PortMapping } from "../network.ts";
import { runQuietTool } from "../run-process.ts";
import { parseAddress } from "./ipv4.ts";

/** Input of the rules. They are always rendered as a whole, so that no earlier state survives. */
export interface PacketRules {
  readonly bridge: string;
  readonly subnet: string;
  readonly pods: readonly PodPorts[];
}

export interface PodPorts {
  readonly podId: string;
  readonly address: string;
  readonly portMappings: readonly PortMapping[];
  readonly routed?: boolean;
}

interface Chain {
  readonly table: "nat" | "filter";
  readonly name: string;
  /** Jumps of the built-in chains to this one. */
  readonly jumps: readonly string[];
  readonly rules: readonly string[];
}

function chainsOf({ bridge, subnet, pods }: PacketRules): readonly Chain[] {
  // Names of chains have at most 28 characters, names of interfaces 15.
  const name = (purpose: string) => `KDL-${purpose}-${bridge}`;
  const toHost = "-m addrtype --dst-type LOCAL";
  return [
    {
      table: "nat",
      name: name("PORTS"),
      jumps: [`PREROUTING ${toHost}`, `OUTPUT ${toHost}`],
      rules: pods.flatMap(portRules),
    },
    {
      table: "nat",
      name: name("OUT"),
      jumps: ["POSTROUTING"],
      rules: [
        `-s ${subnet} ! -d ${subnet} -j MASQUERADE`,
        ...returnRules({ bridge, subnet, pods }),
        // The host itself, through a host port at 127.0.0.1.
        `-s 127.0.0.0/8 -o ${bridge} -j MASQUERADE`,
      ],
    },
    {
      table: "filter",
      name: name("FWD"),
      jumps: ["FORWARD"],
      // Required where the policy is DROP, as Docker sets it.
      rules: [`-i ${bridge} -j ACCEPT`, `-o ${bridge} -j ACCEPT`],
    },
    {
      table: "filter",
      name: name("IN"),
      jumps: ["INPUT"],
      // Host ports at 127.0.0.1 require route_localnet, which alone would expose the host's loopback to pods
      // (CVE-2020-8558).
      rules: [`-i ${bridge} -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`],
    },
  ];
}

/**
 * Rules for pods that connect to pods through a host port: the response has to return the same way. Pods send it to this
 * machine unless the pod connects to itself.
 */
function returnRules({ bridge, subnet, pods }: PacketRules): string[] {
  if (pods.some(({ routed }) => !routed))
    return [`-s ${subnet} -o ${bridge} -m conntrack --ctstate DNAT -j MASQUERADE`];
  return pods
    .filter(({ portMappings }) => portMappings.length > 0)
    .map(
      ({ address }) => `-s ${address} -d ${address} -o ${bridge} -m conntrack --ctstate DNAT -j MASQUERADE`,
    );
}

function portRules({ podId, address, portMappings }: PodPorts): string[] {
  return portMappings.map((mapping) => {
    const { protocol, hostIp, hostPort, containerPort } = mapping;
    const at = isEverywhere(mapping) ? "" : ` -d ${hostIp}`;
    return (
      `-p ${protocol.toLowerCase()}${at} --dport ${hostPort} -m comment --comment "kindling pod ${podId}" ` +
      `-j DNAT --to-destination ${address}:${containerPort}`
    );
  });
}

/**
 * Renders input for `iptables-restore --noflush` that sets the rules, given the output of `iptables-save`
 * (savedPattern).
 */
export function renderRules(rules: PacketRules, saved: string): string {
  const lines = saved.split("\n");
  return renderTables(chainsOf(rules), ({ name, jumps, rules }) => [
    ...rules.map((rule) => `-A ${name} ${rule}`),
    ...jumps
      .map((jump) => `${jump} -j ${name}`)
      .filter((jump) => !lines.includes(`-A ${jump}`))
      .map((jump) => `-I ${jump}`),
  ]);
}

/**
 * Whether all rules exist. They are counted, not compared, because iptables prints rules in another form. Additional
 * rules are those of a pod that is being attached.
 */
export function hasRules(rules: PacketRules, saved: string): boolean {
  const lines = saved.split("\n");
  return chainsOf(rules).every(
    ({ name, jumps, rules }) =>
      jumps.every((jump) => lines.includes(`-A ${jump} -j ${name}`)) &&
      lines.filter((line) => line.split(" ")[1] === name).length >= rules.length,
  );
}

/** Pattern for grep of the relevant lines of `iptables-save`: a machine with many services has megabytes of others. */
export function savedPattern(bridge: string): string {
  const chain = `KDL-[A-Z]+-${bridge.replace(/[^\w-]/g, ".")}`;
  return `^-A ${chain} |^-A .* -j ${chain}$`;
}

/** Renders input that removes all rules and chains. */
export function renderRemoval(rules: Omit<PacketRules, "pods">, saved: string): string {
  return renderTables(chainsOf({ ...rules, pods: [] }), ({ name }) => {
    const jumps = saved.split("\n").filter((line) => line.startsWith("-A ") && line.endsWith(` -j ${name}`));
    return [...jumps.map((line) => line.replace("-A", "-D")), `-X ${name}`];
  });
}

function renderTables(chains: readonly Chain[], linesOf: (chain: Chain) => string[]): string {
  return (["nat", "filter"] as const)
    .map((table) => {
      const own = chains.filter((chain) => chain.table === table);
      // Declaring a chain creates or empties it.
      const heads = own.map(({ name }) => `:${name} - [0:0]`);
      return [`*${table}`, ...heads, ...own.flatMap(linesOf), "COMMIT", ""].join("\n");
    })
    .join("");
}

/** Returns why the host ports cannot be mapped; undefined when they can. */
export function findPortProblem(
  wanted: readonly PortMapping[],
  others: readonly { readonly podId: string; readonly portMappings: readonly PortMapping[] }[],
): string | undefined {
  for (const port of wanted) {
    const name = `host port ${port.hostPort}/${port.protocol}`;
    if (!isEverywhere(port) && parseAddress(port.hostIp) === undefined)
      return `${name} is wanted at ${JSON.stringify(port.hostIp)}, which is no IPv4 address`;
    if (![port.hostPort, port.containerPort].every(isPort))
      return `${name} to ${port.containerPort} is not from port to port`;
    // With two rules for one port, one pod would silently not get it.
    const other = others.find(({ portMappings }) => portMappings.some((taken) => samePort(port, taken)));
    if (other) return `${name} is taken by pod ${other.podId}`;
  }
  return undefined;
}

function isEverywhere({ hostIp }: PortMapping): boolean {
  return hostIp === "" || hostIp === "0.0.0.0" || hostIp === "::";
}

function samePort(a: PortMapping, b: PortMapping): boolean {
  if (a.protocol !== b.protocol || a.hostPort !== b.hostPort) return false;
  return isEverywhere(a) || isEverywhere(b) || a.hostIp === b.hostIp;
}

function isPort(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value < 65_536;
}

/** Returns why iptables does not work; undefined when it does. */
export async function iptablesProblem(): Promise<string | undefined> {
  try {
    await runQuietTool("iptables-save", []);
    await runQuietTool("iptables-restore", ["--noflush", "--test", "--wait"], { input: "*nat\nCOMMIT\n" });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

export async function applyRules(rules: PacketRules): Promise<void> {
  await restore(renderRules(rules, await save(rules)));
}

/** Whether all rules still exist. */
export async function areRulesThere(rules: PacketRules): Promise<boolean> {
  return hasRules(rules, await save(rules));
}

export async function removeRules(rules: Omit<PacketRules, "pods">): Promise<void> {
  await restore(renderRemoval(rules, await save(rules)));
}

async function save({ bridge }: Pick<PacketRules, "bridge">): Promise<string> {
  const script = `all=$(iptables-save) || exit; printf '%s\\n' "$all" | grep -oE "$1" || :`;
  const args = ["-c", script, "sh", savedPattern(bridge)];
  const { exitCode, output } = await tryRunProgram("sh", args, { timeoutMs: 10_000 });
  if (exitCode !== 0)
    throw new NetworkError("toolFailed", `iptables-save failed with ${exitCode}: ${output}`);
  return output;
}

async function restore(input: string): Promise<void> {
  await runQuietTool("iptables-restore", ["--noflush", "--wait"], { input });
}
