import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { toolPath } from "../programs/tools.ts";
import type { KubectlTool } from "./kubectl.ts";

/** Container that serves `hello` on the pod's loopback only. */
export const loopbackServer = {
  command: ["sh", "-c", "mkdir /www; printf hello >/www/index.html; exec httpd -f -p 127.0.0.1:8080 -h /www"],
};

/** Protocols between kubectl and the API server. */
export const portForwardProtocols = [
  ["WebSocket", { KUBECTL_PORT_FORWARD_WEBSOCKETS: "true" }],
  ["SPDY", { KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" }],
] as const;

interface PortForward {
  /** First local port. */
  readonly port: number;
  readonly process: ChildProcess;
  output(): string;
  stop(): Promise<void>;
}

/** Starts `kubectl port-forward` and resolves when it listens. */
export async function startPortForward(options: {
  readonly kubeconfig: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly tool?: KubectlTool;
}): Promise<PortForward> {
  const { kubeconfig, args, env, tool = "kubectl" } = options;
  const own = { KUBECACHEDIR: `${kubeconfig}-cache-${tool}`, ...env };
  const child = spawn(toolPath(tool), ["--kubeconfig", kubeconfig, "port-forward", ...args], {
    env: { ...process.env, ...own },
  });
  let output = "";
  let onListen: (port: number) => void = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
      const port = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(output)?.[1];
      if (port) onListen(Number(port));
    });
  const exited = once(child, "exit");
  const port = await Promise.race([
    new Promise<number>((resolve) => {
      onListen = resolve;
    }),
    exited.then(() => {
      throw new Error(`kubectl port-forward exited: ${output}`);
    }),
  ]);
  return {
    port,
    process: child,
    output: () => output,
    async stop() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

export async function fetchText(port: number, path = "/"): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: "close" } });
  return response.text();
}
