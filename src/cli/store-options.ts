import { type Command, Option } from "commander";
import type { StoreOptions } from "../cluster/control-plane.ts";
import { dataDirOption } from "./data-dir-option.ts";
import { readGivenFile } from "./read-given-file.ts";
import { UsageError } from "./usage-error.ts";

export interface StoreFlags {
  dataDir: string;
  store: "lmdb" | "memory" | "etcd";
  etcdEndpoints?: string;
  etcdCafile?: string;
  etcdCertfile?: string;
  etcdKeyfile?: string;
}

/** `--data-dir`, `--store` and where etcd is. */
export function addStoreOptions(command: Command): Command {
  return command
    .addOption(dataDirOption())
    .addOption(
      new Option("--store <backend>", "where objects are kept")
        .choices(["lmdb", "memory", "etcd"])
        .default("lmdb"),
    )
    .option("--etcd-endpoints <urls>", "etcd servers, separated by commas: https://host:2379,…")
    .option("--etcd-cafile <file>", "the CA that signed etcd's certificate")
    .option("--etcd-certfile <file>", "the client certificate to show to etcd")
    .option("--etcd-keyfile <file>", "the key of that certificate");
}

export async function storeOptionsOf(flags: StoreFlags): Promise<StoreOptions> {
  const { etcdCafile, etcdCertfile, etcdKeyfile } = flags;
  if (flags.store !== "etcd") {
    if (flags.etcdEndpoints ?? etcdCafile ?? etcdCertfile ?? etcdKeyfile)
      throw new UsageError(
        "--etcd-endpoints needs --store etcd, and so do --etcd-cafile, --etcd-certfile and --etcd-keyfile",
      );
    return { kind: flags.store };
  }
  const endpoints = (flags.etcdEndpoints ?? "").split(",").filter(Boolean);
  if (endpoints.length === 0)
    throw new UsageError("--store etcd needs --etcd-endpoints, such as http://127.0.0.1:2379");
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined)) {
    throw new UsageError("--etcd-certfile and --etcd-keyfile go together");
  }
  const [ca, cert, key] = await Promise.all([
    readGivenFile("--etcd-cafile", etcdCafile),
    readGivenFile("--etcd-certfile", etcdCertfile),
    readGivenFile("--etcd-keyfile", etcdKeyfile),
  ]);
  return { kind: "etcd", endpoints, tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } };
}
