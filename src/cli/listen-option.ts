import { InvalidArgumentError, Option } from "commander";

export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** `--listen HOST:PORT`. */
export const listenOption = (standard: string) =>
  new Option("--listen <host:port>", "where to serve; port 0 picks a free one")
    .argParser(parseListenAddress)
    .default(parseListenAddress(standard), standard);

/** Reads `127.0.0.1:6443`, `[::1]:6443`, `:6443`. */
export function parseListenAddress(text: string): ListenAddress {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d+)$/.exec(text);
  const port = Number(parts?.[3]);
  if (!parts || port > 65_535) {
    throw new InvalidArgumentError(`write it HOST:PORT, such as 127.0.0.1:6443 or [::1]:6443`);
  }
  return { host: parts[1] ?? (parts[2] || "0.0.0.0"), port };
}
