import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

const agentProgram = fileURLToPath(new URL("pod-agent.mjs", import.meta.url));

export interface AgentResult {
  /** First line of the server: its name and the address of its client. */
  readonly text?: string;
  readonly error?: string;
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs?: number;
}

/** Process in a network namespace that serves port 8080 and connects to others. */
interface Agent {
  readonly address: string;
  readonly address6: string;
  /** Name of its network namespace. Undefined for the namespace of the test. */
  readonly namespace: string | undefined;
  tcp(target: Target & { readonly keep?: string }): Promise<AgentResult>;
  udp(target: Target & { readonly from?: number }): Promise<AgentResult>;
  /** Uses the connection that `keep` names again. */
  again(keep: string): Promise<AgentResult>;
  close(): Promise<void>;
}

export interface PodNetwork {
  readonly bridge: string;
  readonly gateway: string;
  /** Subnets of the pods. */
  readonly subnets: readonly string[];
  /** Agent in the namespace of the test, like a process of the node. */
  readonly node: Agent;
  readonly pods: readonly Agent[];
  /** Agent on another machine, whose default route is the node. */
  readonly outside: Agent;
  /** Address of the node that the other machine reaches. */
  readonly nodeAddress: string;
  close(): Promise<void>;
}

let count = 0;

/** Creates a bridge with pods that are connected as those of Kindling's runtime, in the namespace of this worker. */
export async function openPodNetwork(names: readonly string[]): Promise<PodNetwork> {
  const number = ++count;
  const bridge = `kdlp${number}`;
  const gateway = `10.77.${number}.1`;
  const gateway6 = `fd77:${number}::1`;
  const ip = (...args: string[]) => execFileSync("ip", args);
  ip("link", "add", bridge, "type", "bridge");
  ip("address", "add", `${gateway}/24`, "dev", bridge);
  ip("address", "add", `${gateway6}/64`, "dev", bridge, "nodad");
  ip("link", "set", bridge, "up");
  execFileSync("sh", [
    "-c",
    "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
  ]);
  ip("link", "set", "lo", "up");
  ip("route", "replace", "10.96.0.0/16", "dev", bridge);
  ip("route", "replace", "fd96::/112", "dev", bridge);
  // External IPs are sent to a router that the test does not have.
  ip("route", "replace", "192.0.2.0/24", "dev", bridge);
  const pods: Agent[] = [];
  const namespaces: string[] = [];
  for (const [i, name] of names.entries()) {
    const namespace = `kdlp-${process.pid}-${number}-${i}`;
    const address = `10.77.${number}.${i + 11}`;
    const address6 = `fd77:${number}::${i + 11}`;
    const link = `kdlv${number}-${i}`;
    ip("netns", "add", namespace);
    namespaces.push(namespace);
    ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace);
    ip("link", "set", link, "master", bridge, "up");
    ip("link", "set", link, "type", "bridge_slave", "hairpin", "on");
    const inside = (...args: string[]) => ip("-n", namespace, ...args);
    inside("link", "set", "lo", "up");
    inside("address", "add", `${address}/32`, "dev", "eth0");
    inside("address", "add", `${address6}/128`, "dev", "eth0", "nodad");
    inside("link", "set", "eth0", "up");
    // The node of a cluster sends no redirects, which would lead around it.
    const redirects = "/proc/sys/net/ipv6/conf/eth0/accept_redirects";
    ip("netns", "exec", namespace, "sh", "-c", `echo 0 >${redirects}`);
    inside("route", "add", gateway, "dev", "eth0", "scope", "link");
    inside("route", "add", "default", "via", gateway);
    inside("route", "add", gateway6, "dev", "eth0");
    inside("-6", "route", "add", "default", "via", gateway6);
    pods.push(await startAgent(name, { namespace, address, address6 }));
  }
  const otherMachine = `kdlp-${process.pid}-${number}-out`;
  ip("netns", "add", otherMachine);
  namespaces.push(otherMachine);
  const toOther = `kdlo${number}`;
  ip("link", "add", toOther, "type", "veth", "peer", "name", "eth0", "netns", otherMachine);
  ip("address", "add", `10.78.${number}.1/24`, "dev", toOther);
  ip("address", "add", `fd78:${number}::1/64`, "dev", toOther, "nodad");
  ip("link", "set", toOther, "up");
  ip("-n", otherMachine, "address", "add", `10.78.${number}.2/24`, "dev", "eth0");
  ip("-n", otherMachine, "address", "add", `fd78:${number}::2/64`, "dev", "eth0", "nodad");
  ip("-n", otherMachine, "link", "set", "eth0", "up");
  ip("-n", otherMachine, "route", "add", "default", "via", `10.78.${number}.1`);
  ip("-n", otherMachine, "-6", "route", "add", "default", "via", `fd78:${number}::1`);
  const outside = await startAgent("outside", {
    namespace: otherMachine,
    address: `10.78.${number}.2`,
    address6: `fd78:${number}::2`,
  });
  const node = await startAgent("node", { address: gateway, address6: gateway6 });
  return {
    bridge,
    gateway,
    subnets: [`10.77.${number}.0/24`, `fd77:${number}::/64`],
    node,
    pods,
    outside,
    nodeAddress: `10.78.${number}.1`,
    async close() {
      await Promise.all([node, outside, ...pods].map((agent) => agent.close()));
      for (const namespace of namespaces) ip("netns", "delete", namespace);
      ip("link", "delete", bridge);
    },
  };
}

async function startAgent(
  name: string,
  { namespace, address, address6 }: { namespace?: string; address: string; address6: string },
): Promise<Agent> {
  const command = [process.execPath, agentProgram, name];
  const [program = "", ...args] = namespace ? ["ip", "netns", "exec", namespace, ...command] : command;
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(program, args, {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting = new Map<number, (result: AgentResult) => void>();
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`the agent ${name} has ended`)));
    lines.on("line", (line) => {
      if (line === "ready") return resolve();
      const { id, result } = JSON.parse(line);
      waiting.get(id)?.(result);
      waiting.delete(id);
    });
  });
  let last = 0;
  const ask = (call: string, asked: object) =>
    new Promise<AgentResult>((resolve) => {
      const id = ++last;
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ id, call, args: asked })}\n`);
    });
  return {
    address,
    address6,
    namespace,
    tcp: (target) => ask("tcp", target),
    udp: (target) => ask("udp", target),
    again: (keep) => ask("again", { keep }),
    close: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.stdin.end();
      }),
  };
}
