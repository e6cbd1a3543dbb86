import { isStoreError } from "../store/store-error.ts";

interface Circumstances {
  readonly dataDir: string;
  /** Who listens on a port, where that can be known. */
  holderOf(port: number): Promise<string | undefined>;
}

interface SystemError {
  readonly code: string;
  readonly message: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  readonly path?: string;
}

/** One sentence that says what is wrong and what to do, for what the system refuses when something starts. */
export async function explainStart(error: unknown, { dataDir, holderOf }: Circumstances): Promise<unknown> {
  const refused = systemErrorIn(error);
  const full = `the disk that holds ${dataDir} is full: make room and start again`;
  if (isStoreError(error, "noSpace")) return new Error(`${full} (${error.message})`, { cause: error });
  if (!refused) return error;
  const say = (sentence: string) => new Error(sentence, { cause: error });
  const { code, address = "", port = 0 } = refused;
  const listening =
    refused.syscall === "listen" || refused.syscall === "bind" || refused.syscall === "getaddrinfo";
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return say(`${full} (${refused.message})`);
    case "EADDRINUSE": {
      if (port <= 0) return error;
      const holder = (await holderOf(port)) ?? "another process";
      return say(
        `port ${port} of ${address} is in use by ${holder}: stop it, or choose another with --listen ${bracketed(address)}:PORT`,
      );
    }
    case "EADDRNOTAVAIL":
      return listening
        ? say(
            `${address} is not an address of this machine: choose one with --listen, such as 127.0.0.1:${port}`,
          )
        : error;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return listening ? say(`the name given to --listen is not known: ${refused.message}`) : error;
    case "EACCES":
    case "EPERM":
      if (listening && port > 0)
        return say(`this user may not listen on port ${port}: choose one above 1023 with --listen`);
      return say(
        `${refused.message}: run it as the user whose files these are, or choose another --data-dir`,
      );
    case "EROFS":
      return say(`${refused.message}: choose a --data-dir on a file system that can be written to`);
    case "EMFILE":
    case "ENFILE":
      return say("too many files are open: raise the limit with ulimit -n and start again");
    default:
      return error;
  }
}

/** The error itself, or the first that it came from, with a code of the operating system. */
function systemErrorIn(error: unknown): SystemError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string" && /^E[A-Z_]+$/.test(cause.code))
      return cause as Error & SystemError;
  }
  return undefined;
}

function bracketed(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
