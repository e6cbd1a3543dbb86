import { type Command, InvalidArgumentError, Option } from "commander";
import { parseQuantity, wholeUnits } from "../../api/meta/quantity.ts";
import type { ApiServerLimits } from "../../apiserver/api-server.ts";
import { defaultMaxWatches } from "../../apiserver/limits/request-limits.ts";
import { defaultMaxUnreadBytes } from "../../apiserver/limits/unread-memory.ts";
import type { StoreOptions } from "../../cluster/parts/control-plane.ts";
import { readGivenFile, UsageError } from "./command-errors.ts";
import { dataDirOption } from "./common-options.ts";

export interface StoreFlags {
  dataDir: string;
  store: "lmdb" | "memory" | "etcd";
  etcdEndpoints?: string;
  etcdCafile?: string;
  etcdCertfile?: string;
  etcdKeyfile?: string;
}

/** Adds `--data-dir`, `--store` and the options of etcd. */
export function addStoreOptions(command: Command): Command {
  return command
    .addOption(dataDirOption())
    .addOption(
      new Option("--store <backend>", "backend that stores objects")
        .choices(["lmdb", "memory", "etcd"])
        .default("lmdb"),
    )
    .option("--etcd-endpoints <urls>", "comma-separated URLs of etcd servers: https://host:2379,…")
    .option("--etcd-cafile <file>", "CA of etcd's serving certificate")
    .option("--etcd-certfile <file>", "client certificate for etcd")
    .option("--etcd-keyfile <file>", "private key of --etcd-certfile");
}

export async function storeOptionsOf(flags: StoreFlags): Promise<StoreOptions> {
  const { etcdCafile, etcdCertfile, etcdKeyfile } = flags;
  if (flags.store !== "etcd") {
    if (flags.etcdEndpoints ?? etcdCafile ?? etcdCertfile ?? etcdKeyfile)
      throw new UsageError(
        "--etcd-endpoints, --etcd-cafile, --etcd-certfile and --etcd-keyfile need --store etcd",
      );
    return { kind: flags.store };
  }
  const endpoints = (flags.etcdEndpoints ?? "").split(",").filter(Boolean);
  if (endpoints.length === 0)
    throw new UsageError("--store etcd needs --etcd-endpoints, such as http://127.0.0.1:2379");
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined)) {
    throw new UsageError("--etcd-certfile and --etcd-keyfile must be set together");
  }
  const [ca, cert, key] = await Promise.all([
    readGivenFile("--etcd-cafile", etcdCafile),
    readGivenFile("--etcd-certfile", etcdCertfile),
    readGivenFile("--etcd-keyfile", etcdKeyfile),
  ]);
  return { kind: "etcd", endpoints, tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } };
}

export interface LimitFlags {
  readonly maxWatches: number;
  readonly maxWatchesPerUser: number;
  readonly maxUnreadBytes: number;
}

/** Adds the options that limit the memory of the API server for its clients. */
export function addLimitOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--max-watches <count>", "maximum number of open watches; further watches get status 429")
        .argParser(parseCount)
        .default(defaultMaxWatches.total),
    )
    .addOption(
      new Option("--max-watches-per-user <count>", "maximum number of open watches of one user")
        .argParser(parseCount)
        .default(defaultMaxWatches.perUser),
    )
    .addOption(
      new Option(
        "--max-unread-bytes <quantity>",
        "maximum memory for responses that clients have not read yet; above it the slowest clients are disconnected",
      )
        .argParser(parseBytes)
        .default(defaultMaxUnreadBytes, "512Mi"),
    );
}

export function limitsOf(flags: LimitFlags): ApiServerLimits {
  return {
    maxWatches: { total: flags.maxWatches, perUser: flags.maxWatchesPerUser },
    maxUnreadBytes: flags.maxUnreadBytes,
  };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 1) return count;
  throw new InvalidArgumentError("must be an integer of at least 1");
}

/** Smallest limit that still allows a few concurrent responses. */
const minUnreadBytes = 1_024 * 1_024;

function parseBytes(text: string): number {
  let bytes = 0;
  try {
    bytes = wholeUnits(parseQuantity(text));
  } catch {
    // Rejected below, like a number that is too small.
  }
  if (bytes >= minUnreadBytes) return bytes;
  throw new InvalidArgumentError("must be a quantity of at least 1Mi, such as 512Mi");
}
