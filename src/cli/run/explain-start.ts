import { isStoreError } from "../../store/store.ts";

interface Circumstances {
  readonly dataDir: string;
  /** Describes the process that listens on a port. Undefined if it is unknown. */
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

/** Turns a system error at startup into a message that says what is wrong and what to do. Returns others unchanged. */
export async function explainStart(error: unknown, { dataDir, holderOf }: Circumstances): Promise<unknown> {
  const refused = systemErrorIn(error);
  const full = `the disk of ${dataDir} is full: free some space and start again`;
  if (isStoreError(error, "noSpace")) return new Error(`${full} (${error.message})`, { cause: error });
  if (!refused) return error;
  const explained = (sentence: string) => new Error(sentence, { cause: error });
  const { code, address = "", port = 0 } = refused;
  const listening =
    refused.syscall === "listen" || refused.syscall === "bind" || refused.syscall === "getaddrinfo";
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return explained(`${full} (${refused.message})`);
    case "EADDRINUSE": {
      if (port <= 0) return error;
      const holder = (await holderOf(port)) ?? "another process";
      return explained(
        `port ${port} of ${address} is in use by ${holder}: stop it, or choose another port with --listen ${bracketed(address)}:PORT`,
      );
    }
    case "EADDRNOTAVAIL":
      return listening
        ? explained(
            `${address} is not an address of this machine: choose one with --listen, such as 127.0.0.1:${port}`,
          )
        : error;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return listening
        ? explained(`the host name of --listen cannot be resolved: ${refused.message}`)
        : error;
    case "EACCES":
    case "EPERM":
      if (listening && port > 0)
        return explained(`this user may not listen on port ${port}: choose a port above 1023 with --listen`);
      return explained(
        `${refused.message}: run the command as the owner of these files, or choose another --data-dir`,
      );
    case "EROFS":
      return explained(`${refused.message}: choose a --data-dir on a writable file system`);
    case "EMFILE":
    case "ENFILE":
      return explained("too many files are open: raise the limit with ulimit -n and start again");
    default:
      return error;
  }
}

/** Finds the first error in the chain of causes that has an error code of the operating system. */
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
