import { homedir } from "node:os";
import { join } from "node:path";
import { InvalidArgumentError, Option } from "commander";
import { defaultFeatures, type Features, parseFeatureGates } from "../../api/meta/feature-gates.ts";
import { dnsSubdomainProblems } from "../../api/meta/names.ts";
import { messageOf } from "../../lib/message-of.ts";
import { parseNodePortRanges } from "../../proxy/model/node-port-addresses.ts";

/** `--data-dir` of every command for a cluster on this machine. */
export const dataDirOption = () =>
  new Option("--data-dir <dir>", "data directory of the cluster").default(
    join(homedir(), ".kindling"),
    "~/.kindling",
  );

/** `-o json` of every command that prints a table. */
export const outputOption = () =>
  new Option("-o, --output <format>", "output format").choices(["table", "json"]).default("table");

export interface ListenAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** `--listen HOST:PORT`. */
export const listenOption = (standard: string) =>
  new Option("--listen <host:port>", "address to listen on; port 0 selects a free port")
    .argParser(parseListenAddress)
    .default(parseListenAddress(standard), standard);

/** Parses `127.0.0.1:6443`, `[::1]:6443` or `:6443`. */
export function parseListenAddress(text: string): ListenAddress {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d+)$/.exec(text);
  const port = Number(parts?.[3]);
  if (!parts || port > 65_535) {
    throw new InvalidArgumentError("must be HOST:PORT, such as 127.0.0.1:6443 or [::1]:6443");
  }
  return { host: parts[1] ?? (parts[2] || "0.0.0.0"), port };
}

/** `--feature-gates Name=true,Other=false` of every command whose component reads gates. */
export const featureGatesOption = () =>
  new Option("--feature-gates <list>", "turn features on or off: Name=true,Other=false")
    .argParser(parseOption)
    .default(defaultFeatures, "see kindling features");

function parseOption(text: string): Features {
  try {
    return parseFeatureGates(text);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}

export const defaultRuntimeEndpoint = "unix:///run/kindling/runtime.sock";

/** `--runtime-endpoint`, with the environment variable of crictl as fallback. */
export const runtimeEndpointOption = (defaultInWords = defaultRuntimeEndpoint) =>
  new Option(
    "--runtime-endpoint <unix:///path>",
    "CRI socket of the runtime: Kindling's, containerd or CRI-O",
  )
    .env("CONTAINER_RUNTIME_ENDPOINT")
    .default(defaultRuntimeEndpoint, defaultInWords);

/** `--nodeport-addresses` of commands that run a service proxy. */
export const nodePortAddressesOption = (description: string) =>
  new Option("--nodeport-addresses <cidrs>", description).argParser((text) => {
    try {
      return parseNodePortRanges(text);
    } catch (error) {
      throw new InvalidArgumentError(messageOf(error));
    }
  });

/** `--allow-external-ips` of commands that run an API server or a service proxy. */
export const allowExternalIPsOption = (effect: string) =>
  new Option(
    "--allow-external-ips",
    `${effect}: every user who may create services can then take over connections to any address`,
  ).default(false);

/** `--adopt-sandboxes` of commands that run a kubelet with a CRI socket. */
export function adoptSandboxesOption(): Option {
  return new Option(
    "--adopt-sandboxes",
    "take over pod sandboxes that another kubelet created, instead of refusing to start",
  ).default(false);
}

/** `--cluster-domain` of commands that resolve names of the cluster or write them into pods. */
export function clusterDomainOption(): Option {
  return new Option("--cluster-domain <domain>", "DNS domain of the cluster")
    .argParser(parseDomain)
    .default("cluster.local");
}

function parseDomain(text: string): string {
  const domain = text.toLowerCase().replace(/\.$/, "");
  const [problem] = dnsSubdomainProblems(domain);
  if (problem) throw new InvalidArgumentError(problem);
  return domain;
}
