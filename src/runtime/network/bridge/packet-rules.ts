import type { PortMapping } from "../network.ts";
import { isEverywhere } from "./find-port-problem.ts";

/** What the rules follow from. They are always rendered as a whole: nothing of an earlier state can survive. */
export interface PacketRules {
  readonly bridge: string;
  readonly subnet: string;
  readonly pods: readonly PodPorts[];
}

export interface PodPorts {
  readonly podId: string;
  readonly address: string;
  readonly portMappings: readonly PortMapping[];
}

interface Chain {
  readonly table: "nat" | "filter";
  readonly name: string;
  /** Rules of the built-in chains that lead here. */
  readonly jumps: readonly string[];
  readonly rules: readonly string[];
}

function chainsOf({ bridge, subnet, pods }: PacketRules): readonly Chain[] {
  // iptables takes 28 characters, the longest name of an interface is 15.
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
        // A pod that comes by way of a host port: the answer has to take the same way back.
        `-s ${subnet} -o ${bridge} -m conntrack --ctstate DNAT -j MASQUERADE`,
        // The host itself, by way of a host port at 127.0.0.1.
        `-s 127.0.0.0/8 -o ${bridge} -j MASQUERADE`,
      ],
    },
    {
      table: "filter",
      name: name("FWD"),
      jumps: ["FORWARD"],
      // Needed where the policy is to drop, as Docker sets it.
      rules: [`-i ${bridge} -j ACCEPT`, `-o ${bridge} -j ACCEPT`],
    },
    {
      table: "filter",
      name: name("IN"),
      jumps: ["INPUT"],
      // Host ports at 127.0.0.1 need route_localnet, which alone would open the host's loopback to pods (CVE-2020-8558).
      rules: [`-i ${bridge} -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`],
    },
  ];
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

/** Input for `iptables-restore --noflush` that makes the rules so, given what `iptables-save` printed (savedPattern). */
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
 * Whether they are all there still. Counted, not compared: iptables writes rules in other words than it was given. More
 * may be there: those of a pod that is on its way.
 */
export function hasRules(rules: PacketRules, saved: string): boolean {
  const lines = saved.split("\n");
  return chainsOf(rules).every(
    ({ name, jumps, rules }) =>
      jumps.every((jump) => lines.includes(`-A ${jump} -j ${name}`)) &&
      lines.filter((line) => line.split(" ")[1] === name).length >= rules.length,
  );
}

/** For grep, what is needed here of the lines of `iptables-save`: a machine with many services has megabytes of others. */
export function savedPattern(bridge: string): string {
  const chain = `KDL-[A-Z]+-${bridge.replace(/[^\w-]/g, ".")}`;
  return `^-A ${chain} |^-A .* -j ${chain}$`;
}

/** Input that removes every trace of them. */
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
      // Naming a chain empties it, or makes it.
      const heads = own.map(({ name }) => `:${name} - [0:0]`);
      return [`*${table}`, ...heads, ...own.flatMap(linesOf), "COMMIT", ""].join("\n");
    })
    .join("");
}
