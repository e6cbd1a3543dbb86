import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { promisify } from "node:util";
import { describe } from "vitest";
import { describeWithTool, type ToolName } from "../programs/tools.ts";

export const run = promisify(execFile);

/** A `describe` for tests that make namespaces, links and packet rules. */
export function describeNetworking(name: string, tools: readonly ToolName[], body: () => void): void {
  if (process.getuid?.() !== 0) {
    describe.skip(`${name} [needs root]`, body);
    return;
  }
  const [tool, ...others] = tools;
  if (tool) describeWithTool(tool, name, () => describeNetworking(`with ${tool}`, others, body));
  else body();
}

/** A server inside a network namespace that answers every connection, or datagram, with `reply`. */
export async function serveInside(
  namespacePath: string,
  { port, reply, protocol = "TCP" }: { port: number; reply: string; protocol?: "TCP" | "UDP" },
): Promise<{ stop(): Promise<void> }> {
  const program =
    protocol === "TCP"
      ? `require("net").createServer((s) => s.end(${JSON.stringify(reply)})).listen(${port}, "0.0.0.0", () => console.log("ready"))`
      : `const s = require("dgram").createSocket("udp4"); s.on("message", (m, r) => s.send(${JSON.stringify(reply)}, r.port, r.address)); s.bind(${port}, () => console.log("ready"))`;
  const child = spawnInside(namespacePath, program);
  await once(child.stdout ?? child, "data");
  return {
    async stop() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Response of a server to a client inside the namespace. */
export async function askFromInside(namespacePath: string, host: string, port: number): Promise<string> {
  const program = `const s = require("net").connect({ host: "${host}", port: ${port} });
    s.setTimeout(10000, () => s.destroy(new Error("no answer"))); s.pipe(process.stdout);
    s.on("error", (e) => { console.log(e.message); process.exit(1); })`;
  const { stdout } = await run("nsenter", [`--net=${namespacePath}`, process.execPath, "-e", program]);
  return stdout;
}

/** Response of a server to a client on the host. */
export async function ask(host: string, port: number): Promise<string> {
  const socket = connect({ host, port }).setEncoding("utf8");
  socket.setTimeout(30_000, () => socket.destroy(new Error(`no answer from ${host}:${port}`)));
  let answer = "";
  for await (const text of socket) answer += text;
  return answer;
}

/** Traces on the machine of a data directory, a bridge or a pod: nothing of them may be left. */
export async function findTraces(of: {
  dataDir: string;
  bridge: string;
  podIds: readonly string[];
}): Promise<string[]> {
  const [mounts, links, rules, processes] = await Promise.all([
    run("cat", ["/proc/self/mountinfo"]),
    run("ip", ["-oneline", "link", "show"]),
    run("iptables-save").catch(() => ({ stdout: "" })),
    run("ps", ["-eo", "pid,args"]).catch(() => ({ stdout: "" })),
  ]);
  const lines = (text: string, ...words: readonly string[]) =>
    text.split("\n").filter((line) => words.some((word) => line.includes(word)));
  return [
    ...lines(mounts.stdout, of.dataDir),
    ...lines(links.stdout, `master ${of.bridge} `),
    ...lines(
      rules.stdout,
      ...of.podIds.map((id) => `pod ${id}"`),
      ...of.podIds.map((id) => `id: \\"${id}\\"`),
    ),
    ...lines(processes.stdout, of.dataDir).filter((line) => !line.includes("ps -eo")),
  ];
}

function spawnInside(namespacePath: string, program: string): ChildProcess {
  const child = spawn("nsenter", [`--net=${namespacePath}`, process.execPath, "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const killWithUs = () => child.kill("SIGKILL");
  process.on("exit", killWithUs);
  child.once("exit", () => process.off("exit", killWithUs));
  return child;
}
