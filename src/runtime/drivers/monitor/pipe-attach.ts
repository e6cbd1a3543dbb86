import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { Writable } from "node:stream";
import { readText } from "../container-files.ts";
import type { AttachStreams, ContainerSpec } from "../driver.ts";
import { terminalInput } from "../exec-process.ts";
import { commandLine, sendSignal } from "../linux/process-info.ts";
import type { OutputPump } from "./output-pumps.ts";

const SIGTERM = 15;

/** Attaches to a container's process: output from the pump, input through its named pipe. */
export function attachToPipes(options: {
  dir: string;
  spec: ContainerSpec;
  pump: OutputPump;
  /** Resizer of the terminal, if there is one; `ended` aborts when its last viewer is gone. */
  resizer: (ended: AbortSignal) => AttachStreams["resize"];
}): AttachStreams {
  const { dir, spec, pump } = options;
  // Opened first: it fails when the container has just exited, and nothing has to be detached then.
  const input = spec.stdin ? openInput(join(dir, "stdin")) : undefined;
  const { stdout, stderr, detach } = pump.attach();
  const closed = new AbortController();
  const resize = options.resizer(closed.signal);
  return {
    stdin:
      input && (spec.terminal ? terminalInput(input) : closingInput(input, { dir, once: spec.stdinOnce })),
    stdout,
    stderr: spec.terminal ? undefined : stderr,
    resize: async (columns, rows) => {
      if (spec.terminal) await resize(columns, rows);
    },
    close() {
      closed.abort();
      detach();
      input?.destroy();
    },
  };
}

function openInput(path: string): Socket {
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const socket = new Socket({ fd, readable: false, writable: true });
  socket.on("error", () => {});
  return socket;
}

/** Input of a container. With stdinOnce, the first client that ends its input ends the container's. */
function closingInput(target: Socket, options: { dir: string; once: boolean }): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void target.write(chunk, (error) => done(error)),
    final(done) {
      target.end(() => {
        target.destroy();
        const released = options.once ? releaseHolder(join(options.dir, "stdin-holder")) : Promise.resolve();
        released.then(() => done(), done);
      });
    },
  });
}

/** Kills the process that holds the pipe open, unless it is gone and its PID is reused. */
async function releaseHolder(pidFile: string): Promise<void> {
  const pid = Number(await readText(pidFile));
  if (pid > 0 && commandLine(pid)[0] === "sleep") sendSignal(pid, SIGTERM);
}
