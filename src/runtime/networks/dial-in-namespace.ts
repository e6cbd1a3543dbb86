import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";

/** Opens TCP connections to servers that listen inside a pod, also on its loopback only. */
export interface NamespaceDialer {
  /** Connects to the loopback address of the pod. Rejects with the reason if nothing accepts the connection. */
  connect(port: number): Promise<Socket>;
  /** Fails pending connects. Open connections stay open. */
  close(): void;
}

/** Time after which an unused helper exits. The next connect starts another one. */
const idleMs = 5_000;
/** Time for the start of the helper and the connection. */
const connectTimeoutMs = 30_000;

/**
 * Program of the helper. A socket belongs to the network namespace of the process that creates it, and a process of
 * Node.js cannot change its own: therefore a helper in the pod's namespace connects, and passes the connected socket on.
 * It is paused, so that the helper reads nothing of what the server sends.
 */
const helperProgram = `
const net = require("node:net");
const dial = (host, port) => new Promise((resolve, reject) => {
  const socket = net.connect({ host, port }).pause();
  socket.once("connect", () => resolve(socket)).once("error", reject);
});
process.on("disconnect", () => process.exit());
process.on("message", ({ id, port }) =>
  dial("127.0.0.1", port)
    .catch((error) => dial("::1", port).catch(() => Promise.reject(error)))
    .then((socket) => process.send({ id }, socket), (error) => process.send({ id, problem: error.message })));
`;

interface Reply {
  readonly id: number;
  readonly problem?: string;
}

/** Creates a dialer for a pinned network namespace, or for the network of the host. */
export function createNamespaceDialer(namespacePath: string | "host"): NamespaceDialer {
  const pending = new Map<number, (reply: { socket: Socket } | { problem: string }) => void>();
  let helper: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let nextId = 1;
  let isClosed = false;

  function failPending(problem: string): void {
    for (const settle of [...pending.values()]) settle({ problem });
  }

  function startHelper(): ChildProcess {
    const node = [process.execPath, "-e", helperProgram];
    const command = namespacePath === "host" ? node : ["nsenter", `--net=${namespacePath}`, "--", ...node];
    const [program = "", ...args] = command;
    const child = spawn(program, args, {
      cwd: "/",
      env: { PATH: process.env.PATH },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const onGone = (problem: string) => {
      if (helper !== child) return;
      helper = undefined;
      failPending(problem);
    };
    child.once("error", (error) => onGone(error.message));
    child.once("exit", (code) => onGone(`the network namespace cannot be entered: exit code ${code}`));
    child.on("message", (message, handle) => {
      const { id, problem } = message as unknown as Reply;
      const settle = pending.get(id);
      if (!(handle instanceof Socket)) return settle?.({ problem: problem ?? "no socket was received" });
      // The caller is gone.
      if (!settle) return void handle.destroy();
      handle.allowHalfOpen = true;
      settle({ socket: handle });
    });
    return child;
  }

  function stopHelper(): void {
    clearTimeout(idle);
    const child = helper;
    helper = undefined;
    if (child?.connected) child.disconnect();
  }

  return {
    connect(port) {
      if (isClosed) return Promise.reject(new Error("the session is closed"));
      clearTimeout(idle);
      helper ??= startHelper();
      const child = helper;
      const id = nextId++;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => settle({ problem: "i/o timeout" }), connectTimeoutMs);
        function settle(reply: { socket: Socket } | { problem: string }): void {
          clearTimeout(timer);
          pending.delete(id);
          if (pending.size === 0 && !isClosed) idle = setTimeout(stopHelper, idleMs);
          if ("socket" in reply) resolve(reply.socket);
          else reject(new Error(reply.problem));
        }
        pending.set(id, settle);
        // A failure also ends the helper, which settles the call.
        child.send({ id, port }, () => {});
      });
    },
    close() {
      isClosed = true;
      stopHelper();
      failPending("the session is closed");
    },
  };
}
